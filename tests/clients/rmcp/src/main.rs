// The Rust SDK: one turn over HTTP ($MCP_URL) or stdio ($MCP_COMMAND), reported as one line of JSON.
use std::env;
use std::error::Error;
use std::process;
use std::sync::Arc;
use std::time::Duration;

use rmcp::handler::client::ClientHandler;
use rmcp::model::{CallToolRequestParams, ProtocolVersion, SubscriptionFilter};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, NotificationContext, RoleClient, RunningService,
};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use serde_json::{Map, Value, json};
use tokio::process::Command;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

const CALL: Duration = Duration::from_secs(10);
const NOTICE: Duration = Duration::from_secs(20);

#[derive(Clone, Default)]
struct Handler {
    changed: Arc<Notify>,
}

impl ClientHandler for Handler {
    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}

type Session = RunningService<RoleClient, Handler>;

fn is_legacy() -> bool {
    env::var("ERA").is_ok_and(|era| era == "legacy")
}

fn lifecycle() -> ClientLifecycleMode {
    if is_legacy() {
        return ClientLifecycleMode::Initialize;
    }
    ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    }
}

// A variable that holds a JSON list; an empty list if it is not set.
fn list(name: &str) -> Result<Vec<String>, Box<dyn Error>> {
    match env::var(name) {
        Ok(text) => Ok(serde_json::from_str(&text)?),
        Err(_) => Ok(vec![]),
    }
}

async fn connect(handler: Handler) -> Result<Session, Box<dyn Error>> {
    if let Ok(url) = env::var("MCP_URL") {
        let mut config = StreamableHttpClientTransportConfig::with_uri(url);
        if let Ok(token) = env::var("TOKEN") {
            config = config.auth_header(token);
        }
        let transport = StreamableHttpClientTransport::from_config(config);
        return Ok(handler.serve_with_lifecycle(transport, lifecycle()).await?);
    }
    let command = list("MCP_COMMAND")?;
    let mut program = Command::new(&command[0]);
    program.args(&command[1..]);
    let transport = TokioChildProcess::new(program)?;
    Ok(handler.serve_with_lifecycle(transport, lifecycle()).await?)
}

async fn names(session: &Session) -> Result<Vec<String>, Box<dyn Error>> {
    let tools = session.list_all_tools().await?;
    Ok(tools.iter().map(|tool| tool.name.to_string()).collect())
}

// The text of a result, or the message of an error.
async fn call(session: &Session, name: &str, arguments: Value) -> String {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let params = CallToolRequestParams::new(name.to_owned()).with_arguments(arguments);
    match timeout(CALL, session.call_tool(params)).await {
        Ok(Ok(result)) => {
            let text = result.content.first().and_then(|block| block.as_text());
            text.map(|one| one.text.clone()).unwrap_or_default()
        }
        Ok(Err(problem)) => problem.to_string(),
        Err(_) => "the call waits for ever".to_owned(),
    }
}

fn grant() -> Result<(), Box<dyn Error>> {
    let command = list("GRANT")?;
    process::Command::new(&command[0]).args(&command[1..]).status()?;
    Ok(())
}

// The tools after the notification that follows from $GRANT, null if none arrives.
async fn granted(session: &Session, changed: &Notify) -> Result<Value, Box<dyn Error>> {
    let is_notified = if is_legacy() {
        sleep(Duration::from_secs(1)).await; // the SDK opens its stream in the background
        grant()?;
        timeout(NOTICE, changed.notified()).await.is_ok()
    } else {
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        let mut subscription = session.listen(filter).await?;
        grant()?;
        matches!(timeout(NOTICE, subscription.next()).await, Ok(Ok(Some(_))))
    };
    if !is_notified {
        return Ok(Value::Null);
    }
    Ok(json!(names(session).await?))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let handler = Handler::default();
    let session = connect(handler.clone()).await?;
    let tools = names(&session).await?;
    let name = tools
        .iter()
        .find(|one| one.ends_with("toMarkdown"))
        .ok_or("no tool")?;
    let article = json!({"nid": 1});
    let large = "x".repeat(5 << 20);
    let mut report = json!({
        "tools": tools,
        "result": call(&session, name, article.clone()).await,
        "error": call(&session, name, json!({"nid": 99999})).await,
        "unknown": call(&session, "nothing", json!({})).await,
        "large": call(&session, name, json!({"nid": 1, "filler": large})).await,
    });
    let mut errors = Map::new();
    for kind in list("ERRORS")? {
        let error = call(&session, &format!("error-{kind}"), article.clone()).await;
        errors.insert(kind, json!([error, call(&session, name, article.clone()).await]));
    }
    if !errors.is_empty() {
        report["errors"] = Value::Object(errors);
    }
    if env::var("GRANT").is_ok() {
        report["granted"] = granted(&session, &handler.changed).await?;
    }
    report["again"] = json!(call(&session, name, article).await);
    println!("{report}");
    session.cancel().await?;
    Ok(())
}
