// Tools of an imagined company, as many as wanted: sixteen for each thing, from reading it to importing it. Things
// beyond the list below get a number.
const places = {
    billing: ["invoice", "refund", "credit note", "price list", "tax rate", "payment plan", "dunning letter", "coupon"],
    crm: ["customer", "lead", "contact", "sales call", "opportunity", "territory", "campaign", "newsletter"],
    desk: ["ticket", "macro", "escalation", "service level", "satisfaction survey", "canned reply", "queue", "shift"],
    docs: ["page", "folder", "template", "comment", "bookmark", "glossary entry", "translation", "attachment"],
    hr: ["employee", "vacation request", "timesheet", "job opening", "applicant", "contract", "review", "badge"],
    iot: ["sensor", "gateway", "firmware image", "alarm rule", "threshold", "calibration", "reading", "site map"],
    media: ["playlist", "album", "podcast episode", "subtitle", "thumbnail", "channel", "live stream", "caption"],
    net: [
        "firewall rule",
        "subnet",
        "DNS record",
        "certificate",
        "VPN tunnel",
        "load balancer",
        "route",
        "switch port",
    ],
    ops: [
        "deployment",
        "incident",
        "runbook",
        "maintenance window",
        "feature flag",
        "backup job",
        "cluster",
        "node pool",
    ],
    stock: [
        "warehouse",
        "pallet",
        "stock count",
        "supplier",
        "purchase order",
        "delivery slip",
        "serial number",
        "shelf",
    ],
    travel: [
        "booking",
        "itinerary",
        "hotel room",
        "boarding pass",
        "seat map",
        "visa form",
        "rental car",
        "mileage log",
    ],
    web: ["redirect", "sitemap", "cookie banner", "form entry", "landing page", "experiment", "shortlink", "webhook"],
    bank: ["account", "transfer", "standing order", "card", "loan", "statement", "mandate", "exchange rate"],
    clinic: ["patient", "appointment", "prescription", "lab result", "ward", "referral", "vaccination", "diagnosis"],
    school: ["course", "lesson", "exam", "grade", "enrolment", "classroom", "homework", "timetable"],
    farm: ["field", "harvest", "tractor", "irrigation plan", "seed lot", "herd", "milk tank", "weather alert"],
    city: ["permit", "parking zone", "street light", "waste pickup", "tree", "bus stop", "noise complaint", "bridge"],
    law: [
        "court case",
        "hearing",
        "deadline",
        "client file",
        "filing",
        "evidence item",
        "power of attorney",
        "fee note",
    ],
    lab: ["sample", "assay", "reagent", "freezer box", "protocol", "instrument", "plate", "chromatogram"],
    fleet: ["truck", "driver", "fuel card", "tachograph file", "tour", "trailer", "toll record", "damage report"],
    press: ["article", "headline", "photo credit", "correction", "embargo", "byline", "edition", "reader letter"],
    game: ["player", "match", "leaderboard", "achievement", "inventory item", "guild", "quest", "ban"],
    shop: ["product", "cart", "wish list", "gift card", "return label", "size chart", "bundle", "product review"],
    church: ["donation", "choir rehearsal", "baptism", "room booking", "volunteer", "sermon", "hymn", "candle"],
    energy: ["meter", "tariff", "outage", "solar panel", "charging point", "grid segment", "peak load", "heat pump"],
    rescue: [
        "mission",
        "vehicle crew",
        "hydrant",
        "siren",
        "first responder",
        "equipment check",
        "radio call",
        "helipad",
    ],
    museum: [
        "exhibit",
        "loan agreement",
        "guided tour",
        "audio guide",
        "restoration",
        "catalogue card",
        "ticket price",
        "donor",
    ],
    sport: [
        "fixture",
        "referee",
        "training plan",
        "league table",
        "season pass",
        "injury",
        "stadium seat",
        "doping test",
    ],
    port: ["vessel", "berth", "container", "customs entry", "crane", "pilot order", "cargo manifest", "tide table"],
    forest: [
        "stand",
        "timber lot",
        "hunting licence",
        "trail",
        "fire watch",
        "seedling",
        "bark beetle trap",
        "logging road",
    ],
    radio: [
        "jingle",
        "playout",
        "listener call",
        "transmitter",
        "news block",
        "traffic report",
        "request show",
        "audio clip",
    ],
    wine: ["vineyard", "barrel", "vintage", "bottling", "tasting note", "cork batch", "label design", "cellar climate"],
    post: [
        "parcel",
        "mailbox",
        "stamp",
        "delivery round",
        "sorting bin",
        "address change",
        "registered letter",
        "pickup point",
    ],
};

const verbs = {
    get: (n) => `Returns one ${n} with all of its fields.`,
    list: (n) => `Lists every ${n}, page by page.`,
    create: (n) => `Creates a new ${n}.`,
    update: (n) => `Changes fields of an existing ${n}.`,
    delete: (n) => `Deletes a ${n}. This cannot be undone.`,
    search: (n) => `Searches every ${n} for words.`,
    export: (n) => `Exports each ${n} as a CSV file.`,
    archive: (n) => `Moves a ${n} to the archive.`,
    restore: (n) => `Takes a ${n} out of the archive.`,
    duplicate: (n) => `Makes a copy of a ${n}.`,
    share: (n) => `Gives other people access to a ${n}.`,
    assign: (n) => `Puts a person in charge of a ${n}.`,
    approve: (n) => `Approves a ${n}.`,
    history: (n) => `Returns who changed a ${n}, and when.`,
    count: (n) => `Returns the number of entries of kind ${n}.`,
    import: (n) => `Reads entries of kind ${n} from a CSV file.`,
};

const camel = (words) => words.replaceAll(/ (\w)/g, (_, letter) => letter.toUpperCase());

// { name, noun, verb, summary, words } of `n` tools.
const things = Object.entries(places).flatMap(([place, nouns]) => nouns.map((noun) => [place, noun]));

// So many tools have things without a number.
export const ownTools = things.length * Object.keys(verbs).length;

export function catalogue(n) {
    const tools = [];
    for (let round = 0; tools.length < n; round += 1) {
        for (const [place, one] of things) {
            const noun = round ? `${one} ${round}` : one;
            for (const [verb, text] of Object.entries(verbs)) {
                const name = `${place}.${camel(noun).replaceAll(" ", "")}.${verb}`;
                tools.push({ name, noun, verb, summary: text(noun), words: `${verb} ${noun}` });
            }
        }
    }
    return tools.slice(0, n);
}

export function document(tools) {
    const method = ({ name, summary, noun, verb }) => ({
        name,
        summary,
        tags: [{ name: name.split(".")[0] }],
        params: ["list", "create", "export", "count", "import"].includes(verb)
            ? [{ name: "limit", description: "How many to return.", schema: { type: "integer" } }]
            : [{ name: "id", description: `Identifier of the ${noun}.`, required: true, schema: { type: "string" } }],
        result: { name: "result", schema: { type: "object" } },
    });
    return { openrpc: "1.3.2", info: { title: "company", version: "1" }, methods: tools.map(method) };
}
