-- model: answers here in place of the one of the settings. purged: 1 while its content is being
-- removed, 2 when nothing of it is left in this file.
ALTER TABLE conversation ADD COLUMN model TEXT;
ALTER TABLE conversation ADD COLUMN purged INTEGER NOT NULL DEFAULT 0
  CHECK (purged BETWEEN 0 AND 2 AND (purged = 0 OR closed = 1));

-- The tables that turns write are made anew: a check of the form `x IN (three words or more)` builds
-- a table of those words for each row, and cost half of an admission. So: one `OR` after another.
--
-- The log also gets a number of its own: what the search index names must not move when the file is
-- compacted. Events are numbered in the order in which they were written, over all conversations.
DROP TRIGGER event_stays;
CREATE TABLE event_anew (
  n INTEGER PRIMARY KEY,
  conversation INTEGER NOT NULL REFERENCES conversation (n),
  cursor INTEGER NOT NULL,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind = 'message' OR kind = 'tool' OR kind = 'turn' OR kind = 'notice'
    OR kind = 'reset'),
  ordinal INTEGER,
  body TEXT NOT NULL,
  UNIQUE (conversation, cursor)
) STRICT;
INSERT INTO event_anew SELECT rowid, conversation, cursor, at, kind, ordinal, body FROM event
  ORDER BY rowid;
DROP TABLE event;
ALTER TABLE event_anew RENAME TO event;
CREATE UNIQUE INDEX event_projectable ON event (conversation, ordinal) WHERE ordinal IS NOT NULL;
-- The one change an event may see: its words go, when its conversation is purged.
CREATE TRIGGER event_stays BEFORE UPDATE ON event
WHEN NOT (NEW.n IS OLD.n AND NEW.conversation IS OLD.conversation AND NEW.cursor IS OLD.cursor
  AND NEW.at IS OLD.at AND NEW.kind IS OLD.kind AND NEW.ordinal IS OLD.ordinal
  AND NEW.body ->> 'purged' IS 1
  AND EXISTS (SELECT 1 FROM conversation WHERE n = OLD.conversation AND purged = 1))
BEGIN SELECT RAISE (ABORT, 'a log only grows'); END;

-- attachments: what a message names, as a list in JSON.
CREATE TABLE input_anew (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  conversation INTEGER NOT NULL REFERENCES conversation (n),
  origin TEXT NOT NULL,
  principal TEXT NOT NULL,
  author TEXT NOT NULL,
  text TEXT,
  attachments TEXT,
  mode TEXT NOT NULL CHECK (mode = 'auto' OR mode = 'steer' OR mode = 'queue'),
  fingerprint TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state = 'queued' OR state = 'running' OR state = 'uncertain'
    OR state = 'settled' OR state = 'failed' OR state = 'absorbed' OR state = 'cancelled'
    OR state = 'not_sent' OR state = 'abandoned'),
  admitted_at INTEGER NOT NULL,
  message_cursor INTEGER NOT NULL,
  settled_at INTEGER,
  code TEXT,
  detail TEXT,
  reply_cursor INTEGER,
  reply_delivery_id TEXT,
  absorbed_by TEXT CHECK (absorbed_by = 'reply' OR absorbed_by = 'steer'),
  retry_of TEXT,
  not_before INTEGER,
  held TEXT,
  depth INTEGER NOT NULL DEFAULT 0,
  tries_base INTEGER NOT NULL DEFAULT 0,
  pruned INTEGER NOT NULL DEFAULT 0 CHECK (pruned = 0 OR pruned = 1),
  UNIQUE (conversation, message_cursor),
  CHECK ((settled_at IS NULL) = (state = 'queued' OR state = 'running' OR state = 'uncertain')),
  CHECK (held IS NULL OR state = 'queued'),
  CHECK ((text IS NULL) = (pruned = 1)),
  CHECK (pruned = 0 OR settled_at IS NOT NULL)
) STRICT;
INSERT INTO input_anew (n, id, conversation, origin, principal, author, text, mode, fingerprint,
    state, admitted_at, message_cursor, settled_at, code, detail, reply_cursor, reply_delivery_id,
    absorbed_by, retry_of, not_before, held, depth, tries_base, pruned)
  SELECT n, id, conversation, origin, principal, author, text, mode, fingerprint, state,
    admitted_at, message_cursor, settled_at, code, detail, reply_cursor, reply_delivery_id,
    absorbed_by, retry_of, not_before, held, depth, tries_base, pruned
  FROM input ORDER BY n;
DROP TABLE input;
ALTER TABLE input_anew RENAME TO input;
CREATE INDEX input_queued ON input (conversation, mode <> 'steer', message_cursor)
  WHERE state = 'queued';
CREATE INDEX input_running ON input (conversation, message_cursor) WHERE state = 'running';
CREATE INDEX input_uncertain ON input (conversation, fingerprint) WHERE state = 'uncertain';
CREATE INDEX input_retry ON input (not_before) WHERE state = 'queued' AND not_before IS NOT NULL;
CREATE INDEX input_evidence ON input (settled_at) WHERE settled_at IS NOT NULL AND pruned = 0;

-- usage: what it cost, in JSON.
CREATE TABLE attempt_anew (
  id TEXT NOT NULL PRIMARY KEY,
  delivery TEXT NOT NULL REFERENCES input (id),
  conversation INTEGER NOT NULL REFERENCES conversation (n),
  n INTEGER NOT NULL CHECK (n >= 1),
  state TEXT NOT NULL CHECK (state = 'reserved' OR state = 'running' OR state = 'released'
    OR state = 'completed' OR state = 'failed' OR state = 'stalled' OR state = 'cancelled'
    OR state = 'uncertain'),
  node TEXT NOT NULL REFERENCES node (id),
  token INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  asked_at INTEGER,
  ended_at INTEGER,
  code TEXT,
  usage TEXT,
  joined TEXT,
  UNIQUE (delivery, n),
  CHECK ((ended_at IS NULL) = (state = 'reserved' OR state = 'running')),
  CHECK (state <> 'reserved' OR (asked_at IS NULL AND joined IS NULL)),
  CHECK (asked_at IS NOT NULL OR NOT (state = 'running' OR state = 'completed'
    OR state = 'cancelled' OR state = 'uncertain'))
) STRICT, WITHOUT ROWID;
INSERT INTO attempt_anew (id, delivery, conversation, n, state, node, token, started_at, asked_at,
    ended_at, code, joined)
  SELECT id, delivery, conversation, n, state, node, token, started_at, asked_at, ended_at, code,
    joined
  FROM attempt;
DROP TABLE attempt;
ALTER TABLE attempt_anew RENAME TO attempt;
CREATE UNIQUE INDEX attempt_one_open_an_input ON attempt (delivery)
  WHERE state IN ('reserved', 'running');
CREATE UNIQUE INDEX attempt_one_run_a_conversation ON attempt (conversation)
  WHERE state IN ('reserved', 'running') AND joined IS NULL;
CREATE INDEX attempt_members ON attempt (joined) WHERE joined IS NOT NULL;

CREATE TABLE tool_call_anew (
  attempt TEXT NOT NULL REFERENCES attempt (id),
  call_id TEXT NOT NULL,
  n INTEGER NOT NULL,
  name TEXT NOT NULL,
  effect INTEGER NOT NULL CHECK (effect = 0 OR effect = 1),
  arguments_sha256 TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state = 'attempting' OR state = 'completed' OR state = 'failed'
    OR state = 'uncertain'),
  detail TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  PRIMARY KEY (attempt, call_id),
  CHECK ((ended_at IS NULL) = (state = 'attempting'))
) STRICT, WITHOUT ROWID;
INSERT INTO tool_call_anew SELECT * FROM tool_call;
DROP TABLE tool_call;
ALTER TABLE tool_call_anew RENAME TO tool_call;

-- What the turns that ended on a day cost. day: days since 1970, UTC. cost: US dollars, of those
-- whose model has a price.
CREATE TABLE usage_day (
  day INTEGER PRIMARY KEY,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  requests INTEGER NOT NULL,
  cost REAL
) STRICT;

CREATE TABLE goal (
  conversation INTEGER PRIMARY KEY REFERENCES conversation (n),
  id TEXT NOT NULL,
  text TEXT NOT NULL,
  token_budget INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  spent INTEGER NOT NULL,
  step INTEGER NOT NULL,
  counted INTEGER NOT NULL CHECK (counted IN (0, 1)),
  state TEXT NOT NULL CHECK (state = 'active' OR state = 'paused' OR state = 'done'
    OR state = 'exhausted'),
  reason TEXT
) STRICT;
CREATE INDEX goal_active ON goal (conversation) WHERE state = 'active';

-- The bytes are in a file of their own, named by digest. A row is there before its file is and until
-- its file is gone: coming and going ones are cleared away at a start. damaged: read, and not whole.
CREATE TABLE attachment (
  digest TEXT NOT NULL PRIMARY KEY,
  media_type TEXT NOT NULL,
  size INTEGER NOT NULL,
  added_at INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state = 'coming' OR state = 'kept' OR state = 'damaged'
    OR state = 'going')
) STRICT, WITHOUT ROWID;
CREATE INDEX attachment_unkept ON attachment (state) WHERE state <> 'kept';
-- Which conversations have it in their log.
CREATE TABLE attachment_use (
  digest TEXT NOT NULL REFERENCES attachment (digest),
  conversation INTEGER NOT NULL REFERENCES conversation (n),
  PRIMARY KEY (digest, conversation)
) STRICT, WITHOUT ROWID;
CREATE INDEX attachment_conversation ON attachment_use (conversation);

-- Words of messages and of finished tool actions; rowid is event.n. It holds no text: what is found
-- is read from the log. place is 'c' and the number of the conversation. The words are folded and
-- divided before they get here (search.py), so the plainest tokenizer is right.
CREATE VIRTUAL TABLE event_words USING fts5 (
  place, words, content = '', columnsize = 0, detail = column, tokenize = 'ascii'
);
-- A word that is deleted is gone at once, not at some later merge.
INSERT INTO event_words (event_words, rank) VALUES ('secure-delete', 1);
-- Filled from the log by number, some time after it.
CREATE TABLE search_state (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  indexed INTEGER NOT NULL
) STRICT;
INSERT INTO search_state (id, indexed) VALUES (1, 0);
