-- generation: which start of the service it was. It only grows.
ALTER TABLE node ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
UPDATE node SET generation = (SELECT count(*) FROM node AS other
  WHERE other.booted_at < node.booted_at
    OR (other.booted_at = node.booted_at AND other.id <= node.id));
CREATE INDEX node_living ON node (generation) WHERE dead = 0;

-- harness_cursor: how far the harness that drives here has the log; NULL where none ever did.
-- service_cursor: where the last turn of the service lane began or ended.
ALTER TABLE conversation ADD COLUMN harness_cursor INTEGER;
ALTER TABLE conversation ADD COLUMN service_cursor INTEGER NOT NULL DEFAULT 0;

-- One kind of event more; nothing else of the log changes.
DROP TRIGGER event_stays;
CREATE TABLE event_anew (
  n INTEGER PRIMARY KEY,
  conversation INTEGER NOT NULL REFERENCES conversation (n),
  cursor INTEGER NOT NULL,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind = 'message' OR kind = 'tool' OR kind = 'turn' OR kind = 'notice'
    OR kind = 'handoff' OR kind = 'reset'),
  ordinal INTEGER,
  body TEXT NOT NULL,
  UNIQUE (conversation, cursor)
) STRICT;
INSERT INTO event_anew SELECT n, conversation, cursor, at, kind, ordinal, body FROM event
  ORDER BY n;
DROP TABLE event;
ALTER TABLE event_anew RENAME TO event;
CREATE UNIQUE INDEX event_projectable ON event (conversation, ordinal) WHERE ordinal IS NOT NULL;
CREATE TRIGGER event_stays BEFORE UPDATE ON event
WHEN NOT (NEW.n IS OLD.n AND NEW.conversation IS OLD.conversation AND NEW.cursor IS OLD.cursor
  AND NEW.at IS OLD.at AND NEW.kind IS OLD.kind AND NEW.ordinal IS OLD.ordinal
  AND NEW.body ->> 'purged' IS 1
  AND EXISTS (SELECT 1 FROM conversation WHERE n = OLD.conversation AND purged = 1))
BEGIN SELECT RAISE (ABORT, 'a log only grows'); END;

-- The recipient that an input was admitted for, for ever; occupant: the only one who may have it.
ALTER TABLE input ADD COLUMN reach TEXT NOT NULL DEFAULT 'conversation'
  CHECK (reach = 'conversation' OR reach = 'occupant' OR reach = 'held_queue'
    OR reach = 'native_parent');
ALTER TABLE input ADD COLUMN occupant TEXT CHECK (occupant IS NULL OR reach <> 'conversation');
-- channel: the linked channel that it came from; name: what people call its author.
ALTER TABLE input ADD COLUMN channel TEXT;
ALTER TABLE input ADD COLUMN name TEXT;
CREATE INDEX input_addressed ON input (occupant, message_cursor)
  WHERE occupant IS NOT NULL AND settled_at IS NULL;

-- A native session in a seat. conversation: where it is attached; granted: what its grant named.
-- activity was reported by activity_session at activity_at; since that session holds the turn.
CREATE TABLE seat (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  harness TEXT NOT NULL,
  occupant TEXT NOT NULL,
  fleet TEXT NOT NULL,
  pane TEXT,
  session TEXT NOT NULL,
  pid INTEGER NOT NULL,
  process_started_at TEXT NOT NULL,
  capabilities TEXT NOT NULL,
  registered_at INTEGER NOT NULL,
  granted INTEGER NOT NULL REFERENCES conversation (n),
  token TEXT NOT NULL REFERENCES token (id),
  conversation INTEGER REFERENCES conversation (n),
  attached_at INTEGER,
  last_ask INTEGER,
  parked_until INTEGER,
  park_reason TEXT,
  activity TEXT CHECK (activity = 'responding' OR activity = 'waiting'),
  activity_session TEXT,
  activity_at INTEGER,
  retired INTEGER NOT NULL DEFAULT 0 CHECK (retired = 0 OR retired = 1),
  CHECK ((conversation IS NULL) = (attached_at IS NULL)),
  CHECK (retired = 0 OR conversation IS NULL),
  CHECK ((parked_until IS NULL) = (park_reason IS NULL)),
  CHECK ((activity IS NULL) = (activity_session IS NULL)),
  CHECK ((activity IS NULL) = (activity_at IS NULL))
) STRICT;
CREATE UNIQUE INDEX seat_one_a_conversation ON seat (conversation) WHERE conversation IS NOT NULL;
CREATE UNIQUE INDEX seat_one_an_occupant ON seat (occupant) WHERE retired = 0;

-- Leave to register a seat. A row is there until it is used.
CREATE TABLE seat_grant (
  sha256 TEXT NOT NULL PRIMARY KEY,
  conversation INTEGER NOT NULL REFERENCES conversation (n),
  harness TEXT NOT NULL,
  uid INTEGER NOT NULL,
  expected TEXT,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Attempts at seats stand beside those of the service lane, so that one index keeps at most one of
-- an input open. binding and poll_id: who was given it, in which page, at which place of the page;
-- steer: it was to join the turn that ran. stop_asked: the owner wants it to end.
-- start_cursor and end_cursor: the turns that say that it began, and (of the service lane) ended.
-- shown_in and shown_cursor: the session in which a row of the transcript showed its words, and the
-- end of the log then.
CREATE TABLE attempt_anew (
  id TEXT NOT NULL PRIMARY KEY,
  delivery TEXT NOT NULL REFERENCES input (id),
  conversation INTEGER NOT NULL REFERENCES conversation (n),
  n INTEGER NOT NULL CHECK (n >= 1),
  state TEXT NOT NULL CHECK (state = 'reserved' OR state = 'running' OR state = 'released'
    OR state = 'completed' OR state = 'failed' OR state = 'stalled' OR state = 'cancelled'
    OR state = 'uncertain' OR state = 'offered' OR state = 'attempting' OR state = 'taken'
    OR state = 'accepted' OR state = 'replied' OR state = 'delivered' OR state = 'refused'),
  node TEXT NOT NULL REFERENCES node (id),
  token INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  asked_at INTEGER,
  ended_at INTEGER,
  code TEXT,
  usage TEXT,
  joined TEXT,
  start_cursor INTEGER,
  end_cursor INTEGER,
  seat TEXT REFERENCES seat (id),
  occupant TEXT,
  binding TEXT,
  poll_id TEXT,
  place INTEGER,
  steer INTEGER NOT NULL DEFAULT 0 CHECK (steer = 0 OR steer = 1),
  acknowledged_at INTEGER,
  proof TEXT,
  shown_in INTEGER REFERENCES native_session (n),
  shown_cursor INTEGER,
  stop_asked INTEGER NOT NULL DEFAULT 0 CHECK (stop_asked = 0 OR stop_asked = 1),
  UNIQUE (delivery, n),
  CHECK ((ended_at IS NULL) = (state = 'reserved' OR state = 'running' OR state = 'offered'
    OR state = 'attempting' OR state = 'taken' OR state = 'accepted')),
  CHECK (asked_at IS NOT NULL OR state = 'reserved' OR state = 'released' OR state = 'failed'
    OR state = 'stalled' OR state = 'offered'),
  CHECK (asked_at IS NULL OR NOT (state = 'reserved' OR state = 'offered')),
  CHECK (joined IS NULL OR NOT (state = 'reserved' OR state = 'offered')),
  CHECK (state = 'released' OR state = 'failed' OR state = 'uncertain'
    OR (seat IS NULL) = (state = 'reserved' OR state = 'running' OR state = 'completed'
      OR state = 'stalled' OR state = 'cancelled')),
  CHECK ((seat IS NULL) = (occupant IS NULL)),
  CHECK (seat IS NULL OR (asked_at IS NULL) = (poll_id IS NULL)),
  CHECK ((poll_id IS NULL) = (binding IS NULL) AND (poll_id IS NULL) = (place IS NULL)),
  CHECK (seat IS NOT NULL OR (poll_id IS NULL AND acknowledged_at IS NULL AND proof IS NULL)),
  CHECK ((proof IS NULL) = (shown_in IS NULL) AND (proof IS NULL) = (shown_cursor IS NULL)),
  CHECK (seat IS NULL OR (usage IS NULL AND end_cursor IS NULL))
) STRICT, WITHOUT ROWID;
INSERT INTO attempt_anew (id, delivery, conversation, n, state, node, token, started_at, asked_at,
    ended_at, code, usage, joined)
  SELECT id, delivery, conversation, n, state, node, token, started_at, asked_at, ended_at, code,
    usage, joined
  FROM attempt;
DROP TABLE attempt;
ALTER TABLE attempt_anew RENAME TO attempt;
CREATE UNIQUE INDEX attempt_one_open_an_input ON attempt (delivery)
  WHERE state IN ('reserved', 'running', 'offered', 'attempting', 'taken', 'accepted');
CREATE UNIQUE INDEX attempt_one_run_a_conversation ON attempt (conversation)
  WHERE state IN ('reserved', 'running') AND joined IS NULL;
CREATE INDEX attempt_members ON attempt (joined) WHERE joined IS NOT NULL;
CREATE INDEX attempt_ended_turn ON attempt (conversation, end_cursor)
  WHERE end_cursor IS NOT NULL;
CREATE INDEX attempt_stored ON attempt (seat) WHERE state = 'offered';
CREATE INDEX attempt_lost ON attempt (seat) WHERE state = 'uncertain';
CREATE INDEX attempt_page ON attempt (seat, poll_id) WHERE poll_id IS NOT NULL;
CREATE INDEX attempt_in_flight ON attempt (seat)
  WHERE state IN ('attempting', 'taken', 'accepted');

-- What the service did that a harness was not told yet. content: the words, while they are under way.
-- tries counts how often it was handed over; each time it is another attempt. none: it was emptied.
CREATE TABLE span (
  id TEXT NOT NULL PRIMARY KEY,
  conversation INTEGER NOT NULL REFERENCES conversation (n),
  state TEXT NOT NULL CHECK (state = 'open' OR state = 'attempting' OR state = 'unresolved'
    OR state = 'delivered' OR state = 'uncertain' OR state = 'none'),
  from_cursor INTEGER NOT NULL,
  to_cursor INTEGER,
  opened_at INTEGER NOT NULL,
  asked_at INTEGER,
  ended_at INTEGER,
  tries INTEGER NOT NULL DEFAULT 0,
  content TEXT,
  seat TEXT REFERENCES seat (id),
  occupant TEXT,
  binding TEXT,
  poll_id TEXT,
  CHECK ((ended_at IS NULL) = (state = 'open' OR state = 'attempting' OR state = 'unresolved')),
  CHECK ((content IS NULL) = (state <> 'attempting' AND state <> 'unresolved')),
  CHECK (state = 'open' OR state = 'none' OR to_cursor IS NOT NULL)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX span_one_a_conversation ON span (conversation) WHERE ended_at IS NULL;
CREATE INDEX span_page ON span (seat, poll_id) WHERE poll_id IS NOT NULL;
CREATE INDEX span_ended ON span (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX span_under_way ON span (asked_at) WHERE content IS NOT NULL;

-- A harness's own session: pinned to the first conversation that it wrote to. answer_cursor: where
-- its newest answer stands. rested: the end of a turn was told since its last words of anybody.
CREATE TABLE native_session (
  n INTEGER PRIMARY KEY,
  harness TEXT NOT NULL,
  session TEXT NOT NULL,
  conversation INTEGER NOT NULL REFERENCES conversation (n),
  since INTEGER NOT NULL,
  retired_at INTEGER,
  answer_cursor INTEGER,
  rested INTEGER NOT NULL DEFAULT 0 CHECK (rested = 0 OR rested = 1),
  said TEXT NOT NULL DEFAULT '[]',
  UNIQUE (harness, session)
) STRICT;
CREATE INDEX native_session_there ON native_session (conversation) WHERE retired_at IS NULL;

-- Rows of transcripts that were taken, each once. cursor: where it stands in the log, if anywhere.
CREATE TABLE native_entry (
  session INTEGER NOT NULL REFERENCES native_session (n),
  id TEXT NOT NULL,
  cursor INTEGER,
  PRIMARY KEY (session, id)
) STRICT, WITHOUT ROWID;

-- A conversation wants to hear of another, or of a delivery.
CREATE TABLE watch (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  conversation INTEGER NOT NULL REFERENCES conversation (n),
  target TEXT NOT NULL,
  text TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  since INTEGER NOT NULL,
  depth INTEGER NOT NULL
) STRICT;
CREATE INDEX watch_conversation ON watch (conversation);
