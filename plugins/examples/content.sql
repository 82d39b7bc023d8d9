-- The content that the example plugin shows. The build makes examples.db of it, and so does the
-- plugin where there is none. Running it twice changes nothing.
CREATE TABLE IF NOT EXISTS content_types (
    id TEXT PRIMARY KEY,
    label TEXT NOT NULL,
    publish INTEGER NOT NULL DEFAULT 1 CHECK (publish IN (0, 1)) -- new nodes: at once
);

CREATE TABLE IF NOT EXISTS nodes (
    nid INTEGER PRIMARY KEY,
    type TEXT NOT NULL REFERENCES content_types (id),
    title TEXT NOT NULL,
    published INTEGER NOT NULL CHECK (published IN (0, 1)),
    created INTEGER NOT NULL, -- seconds since 1970
    body TEXT NOT NULL -- HTML
);
-- Serves the list of articles: newest first.
CREATE INDEX IF NOT EXISTS nodes_by_age ON nodes (type, published, created DESC, nid DESC);

-- The articles as Markdown: what cache.rebuild makes, so that it need not be made for each call.
-- A node that changes drops out of it.
CREATE TABLE IF NOT EXISTS markdown_cache (
    nid INTEGER PRIMARY KEY,
    markdown TEXT NOT NULL
);
CREATE TRIGGER IF NOT EXISTS node_changed AFTER UPDATE ON nodes BEGIN
    DELETE FROM markdown_cache WHERE nid = old.nid;
END;
CREATE TRIGGER IF NOT EXISTS node_deleted AFTER DELETE ON nodes BEGIN
    DELETE FROM markdown_cache WHERE nid = old.nid;
END;

INSERT OR IGNORE INTO content_types (id, label, publish) VALUES
    ('article', 'Article', 1),
    ('blog', 'Blog post', 0),
    ('page', 'Basic page', 1);

INSERT OR IGNORE INTO nodes (nid, type, title, published, created, body) VALUES
(1, 'article', 'Building a causeway', 1, 1767261600,
'<p>A causeway is a raised road across water or wet ground.</p>
<p>It is built <strong>once</strong>, by people who know the ground, so that everybody else can
<em>walk across</em> without knowing it.</p>'),
(2, 'article', 'Reading the tide table', 1, 1769940000,
'<p>Before you cross, look at the table:</p>
<ul>
<li>High water is the time to wait.</li>
<li>Low water is the time to go:
  <ol><li>start early,</li><li>do not stop on the way.</li></ol></li>
</ul>
<blockquote><p>Time and tide wait for no one.</p></blockquote>'),
(3, 'article', 'What to carry', 1, 1772359200,
'<h2>In the bag</h2>
<p>Water, a map &amp; a whistle. Boots &lt; 2 kg are best.</p>
<h2>On the phone</h2>
<p>The number of the harbour office, and <a href="https://example.org/tides">the tide table</a>.</p>'),
(4, 'article', 'A draft about seals', 0, 1774951200,
'<p>Nobody should read this yet.</p>'),
(5, 'page', 'About this collection', 1, 1767175200,
'<p>A few short texts for the example plugin of Causeway.</p>'),
(6, 'article', 'Signals from the far side', 1, 1777543200,
'<p>The lamp at the far end repeats a short program:</p>
<pre><code>while (fog)
    blink(3);</code></pre>
<p>Where you see <code>blink</code> stop, the road is under water.</p>'),
(7, 'blog', 'A walk in October', 1, 1790935200,
'<p>We left at seven and met only birds.</p>'),
(8, 'article', 'Who keeps the road', 1, 1780221600,
'<p>Stones move every winter. <em>Somebody</em> has to put them back.</p>');

-- The plugin looks at this to see whether the file is whole.
PRAGMA user_version = 1;
