// The Rust SDK: one turn over HTTP ($MCP_URL) or stdio ($MCP_COMMAND), reported as one line of JSON.
use std::env;
use std::error::Error;
use std::time::Duration;

use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::timeout;

type Session = RunningService<RoleClient, ()>;

fn lifecycle() -> ClientLifecycleMode {
    if env::var("ERA").is_ok_and(|era| era == "legacy") {
        return ClientLifecycleMode::Initialize;
    }
    ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    }
}

async fn connect() -> Result<Session, Box<dyn Error>> {
    if let Ok(url) = env::var("MCP_URL") {
        let transport = StreamableHttpClientTransport::from_uri(url);
        return Ok(().serve_with_lifecycle(transport, lifecycle()).await?);
    }
    let command: Vec<String> = serde_json::from_str(&env::var("MCP_COMMAND")?)?;
    let mut program = Command::new(&command[0]);
    program.args(&command[1..]);
    let transport = TokioChildProcess::new(program)?;
    Ok(().serve_with_lifecycle(transport, lifecycle()).await?)
}

// The text of a result, or the message of an error.
async fn call(session: &Session, name: &str, arguments: Value) -> String {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let params = CallToolRequestParams::new(name.to_owned()).with_arguments(arguments);
    match timeout(Duration::from_secs(20), session.call_tool(params)).await {
        Ok(Ok(result)) => {
            let text = result.content.first().and_then(|block| block.as_text());
            text.map(|one| one.text.clone()).unwrap_or_default()
        }
        Ok(Err(problem)) => problem.to_string(),
        Err(_) => "the call waits for ever".to_owned(),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let session = connect().await?;
    let tools = session.list_all_tools().await?;
    let names: Vec<String> = tools.iter().map(|tool| tool.name.to_string()).collect();
    let name = names
        .iter()
        .find(|one| one.ends_with("toMarkdown"))
        .ok_or("no tool")?;
    let large = "x".repeat(5 << 20);
    let report = json!({
        "tools": names,
        "result": call(&session, name, json!({"nid": 1})).await,
        "error": call(&session, name, json!({"nid": 99999})).await,
        "unknown": call(&session, "nothing", json!({})).await,
        "large": call(&session, name, json!({"nid": 1, "filler": large})).await,
        "again": call(&session, name, json!({"nid": 1})).await,
    });
    println!("{report}");
    session.cancel().await?;
    Ok(())
}
