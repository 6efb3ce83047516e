CREATE INDEX attachment_conversation ON attachment_use (conversation)

CREATE INDEX attachment_unkept ON attachment (state) WHERE state <> 'kept'

CREATE INDEX attempt_ended_turn ON attempt (conversation, end_cursor)
  WHERE end_cursor IS NOT NULL

CREATE INDEX attempt_in_flight ON attempt (seat)
  WHERE state IN ('attempting', 'taken', 'accepted')

CREATE INDEX attempt_lost ON attempt (seat) WHERE state = 'uncertain'

CREATE INDEX attempt_members ON attempt (joined) WHERE joined IS NOT NULL

CREATE UNIQUE INDEX attempt_one_open_an_input ON attempt (delivery)
  WHERE state IN ('reserved', 'running', 'offered', 'attempting', 'taken', 'accepted')

CREATE UNIQUE INDEX attempt_one_run_a_conversation ON attempt (conversation)
  WHERE state IN ('reserved', 'running') AND joined IS NULL

CREATE INDEX attempt_page ON attempt (seat, poll_id) WHERE poll_id IS NOT NULL

CREATE INDEX attempt_stored ON attempt (seat) WHERE state = 'offered'

CREATE UNIQUE INDEX event_projectable ON event (conversation, ordinal) WHERE ordinal IS NOT NULL

CREATE INDEX goal_active ON goal (conversation) WHERE state = 'active'

CREATE INDEX input_addressed ON input (occupant, message_cursor)
  WHERE occupant IS NOT NULL AND settled_at IS NULL

CREATE INDEX input_evidence ON input (settled_at) WHERE settled_at IS NOT NULL AND pruned = 0

CREATE INDEX input_queued ON input (conversation, mode <> 'steer', message_cursor)
  WHERE state = 'queued'

CREATE INDEX input_retry ON input (not_before) WHERE state = 'queued' AND not_before IS NOT NULL

CREATE INDEX input_running ON input (conversation, message_cursor) WHERE state = 'running'

CREATE INDEX input_uncertain ON input (conversation, fingerprint) WHERE state = 'uncertain'

CREATE INDEX native_session_there ON native_session (conversation) WHERE retired_at IS NULL

CREATE INDEX node_living ON node (generation) WHERE dead = 0

CREATE UNIQUE INDEX seat_one_a_conversation ON seat (conversation) WHERE conversation IS NOT NULL

CREATE UNIQUE INDEX seat_one_an_occupant ON seat (occupant) WHERE retired = 0

CREATE INDEX span_ended ON span (ended_at) WHERE ended_at IS NOT NULL

CREATE UNIQUE INDEX span_one_a_conversation ON span (conversation) WHERE ended_at IS NULL

CREATE INDEX span_page ON span (seat, poll_id) WHERE poll_id IS NOT NULL

CREATE INDEX span_under_way ON span (asked_at) WHERE content IS NOT NULL

CREATE INDEX transition_record ON transition (record)

CREATE INDEX wake_conversation ON wake (conversation, due_at)

CREATE INDEX wake_due ON wake (due_at) WHERE delivery IS NULL

CREATE INDEX watch_conversation ON watch (conversation)

CREATE TABLE attachment (
  digest TEXT NOT NULL PRIMARY KEY,
  media_type TEXT NOT NULL,
  size INTEGER NOT NULL,
  added_at INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state = 'coming' OR state = 'kept' OR state = 'damaged'
    OR state = 'going')
) STRICT, WITHOUT ROWID

CREATE TABLE attachment_use (
  digest TEXT NOT NULL REFERENCES attachment (digest),
  conversation INTEGER NOT NULL REFERENCES conversation (n),
  PRIMARY KEY (digest, conversation)
) STRICT, WITHOUT ROWID

CREATE TABLE "attempt" (
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
) STRICT, WITHOUT ROWID

CREATE TABLE conversation (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  request_id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('global', 'workspace', 'room', 'lead', 'inbox')),
  directory TEXT,
  created_at INTEGER NOT NULL,
  closed INTEGER NOT NULL DEFAULT 0 CHECK (closed IN (0, 1)),
  revision INTEGER NOT NULL DEFAULT 0,
  cursor INTEGER NOT NULL DEFAULT 0,
  ordinal INTEGER NOT NULL DEFAULT 0,
  oldest INTEGER NOT NULL DEFAULT 1,
  reset_cursor INTEGER NOT NULL DEFAULT 0,
  reset_ordinal INTEGER NOT NULL DEFAULT 0,
  owner TEXT REFERENCES node (id),
  token INTEGER NOT NULL DEFAULT 0,
  running INTEGER NOT NULL DEFAULT 0 CHECK (running >= 0),
  waiting INTEGER NOT NULL DEFAULT 0 CHECK (waiting >= 0),
  held INTEGER NOT NULL DEFAULT 0 CHECK (held BETWEEN 0 AND waiting),
  uncertain INTEGER NOT NULL DEFAULT 0 CHECK (uncertain >= 0), model TEXT, purged INTEGER NOT NULL DEFAULT 0
  CHECK (purged BETWEEN 0 AND 2 AND (purged = 0 OR closed = 1)), harness_cursor INTEGER, service_cursor INTEGER NOT NULL DEFAULT 0,
  CHECK (ordinal <= cursor AND reset_cursor <= cursor AND reset_ordinal <= ordinal)
) STRICT

CREATE TABLE "event" (
  n INTEGER PRIMARY KEY,
  conversation INTEGER NOT NULL REFERENCES conversation (n),
  cursor INTEGER NOT NULL,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind = 'message' OR kind = 'tool' OR kind = 'turn' OR kind = 'notice'
    OR kind = 'handoff' OR kind = 'reset'),
  ordinal INTEGER,
  body TEXT NOT NULL,
  UNIQUE (conversation, cursor)
) STRICT

CREATE VIRTUAL TABLE event_words USING fts5 (
  place, words, content = '', columnsize = 0, detail = column, tokenize = 'ascii'
)

CREATE TABLE 'event_words_config'(k PRIMARY KEY, v) WITHOUT ROWID

CREATE TABLE 'event_words_data'(id INTEGER PRIMARY KEY, block BLOB)

CREATE TABLE 'event_words_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID

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
) STRICT

CREATE TABLE "input" (
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
  pruned INTEGER NOT NULL DEFAULT 0 CHECK (pruned = 0 OR pruned = 1), reach TEXT NOT NULL DEFAULT 'conversation'
  CHECK (reach = 'conversation' OR reach = 'occupant' OR reach = 'held_queue'
    OR reach = 'native_parent'), occupant TEXT CHECK (occupant IS NULL OR reach <> 'conversation'), channel TEXT, name TEXT,
  UNIQUE (conversation, message_cursor),
  CHECK ((settled_at IS NULL) = (state = 'queued' OR state = 'running' OR state = 'uncertain')),
  CHECK (held IS NULL OR state = 'queued'),
  CHECK ((text IS NULL) = (pruned = 1)),
  CHECK (pruned = 0 OR settled_at IS NOT NULL)
) STRICT

CREATE TABLE native_entry (
  session INTEGER NOT NULL REFERENCES native_session (n),
  id TEXT NOT NULL,
  cursor INTEGER,
  PRIMARY KEY (session, id)
) STRICT, WITHOUT ROWID

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
) STRICT

CREATE TABLE node (
  id TEXT NOT NULL PRIMARY KEY,
  booted_at INTEGER NOT NULL,
  dead INTEGER NOT NULL DEFAULT 0 CHECK (dead IN (0, 1))
, generation INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID

CREATE TABLE schema_version (n INTEGER PRIMARY KEY, at INTEGER NOT NULL) STRICT

CREATE TABLE search_state (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  indexed INTEGER NOT NULL
) STRICT

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
) STRICT

CREATE TABLE seat_grant (
  sha256 TEXT NOT NULL PRIMARY KEY,
  conversation INTEGER NOT NULL REFERENCES conversation (n),
  harness TEXT NOT NULL,
  uid INTEGER NOT NULL,
  expected TEXT,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID

CREATE TABLE setting (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  revision INTEGER NOT NULL,
  body TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT

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
) STRICT, WITHOUT ROWID

CREATE TABLE token (
  id TEXT NOT NULL PRIMARY KEY,
  principal TEXT NOT NULL,
  author TEXT NOT NULL,
  label TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  revoked INTEGER NOT NULL DEFAULT 0 CHECK (revoked IN (0, 1)),
  sha256 TEXT UNIQUE,
  CHECK (sha256 IS NOT NULL OR revoked = 1)
) STRICT, WITHOUT ROWID

CREATE TABLE "tool_call" (
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
) STRICT, WITHOUT ROWID

CREATE TABLE transition (
  seq INTEGER PRIMARY KEY,
  record TEXT NOT NULL,
  before TEXT,
  after TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT

CREATE TABLE usage_day (
  day INTEGER PRIMARY KEY,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  requests INTEGER NOT NULL,
  cost REAL
) STRICT

CREATE TABLE wake (
  id TEXT NOT NULL PRIMARY KEY,
  conversation INTEGER NOT NULL REFERENCES conversation (n),
  due_at INTEGER NOT NULL,
  text TEXT NOT NULL,
  depth INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  delivery TEXT UNIQUE REFERENCES input (id),
  held TEXT,
  CHECK (held IS NULL OR delivery IS NULL)
) STRICT, WITHOUT ROWID

CREATE TABLE watch (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  conversation INTEGER NOT NULL REFERENCES conversation (n),
  target TEXT NOT NULL,
  text TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  since INTEGER NOT NULL,
  depth INTEGER NOT NULL
) STRICT

CREATE TRIGGER event_stays BEFORE UPDATE ON event
WHEN NOT (NEW.n IS OLD.n AND NEW.conversation IS OLD.conversation AND NEW.cursor IS OLD.cursor
  AND NEW.at IS OLD.at AND NEW.kind IS OLD.kind AND NEW.ordinal IS OLD.ordinal
  AND NEW.body ->> 'purged' IS 1
  AND EXISTS (SELECT 1 FROM conversation WHERE n = OLD.conversation AND purged = 1))
BEGIN SELECT RAISE (ABORT, 'a log only grows'); END

CREATE TRIGGER transition_stays BEFORE UPDATE ON transition
BEGIN SELECT RAISE (ABORT, 'moves are only added'); END
