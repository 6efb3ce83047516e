-- model: answers here in place of the one of the settings. purged: 1 while its content is being
-- removed, 2 when nothing of it is left in this file.
ALTER TABLE conversation ADD COLUMN model TEXT;
ALTER TABLE conversation ADD COLUMN purged INTEGER NOT NULL DEFAULT 0
  CHECK (purged IN (0, 1, 2) AND (purged = 0 OR closed = 1));
ALTER TABLE input ADD COLUMN attachments TEXT;
ALTER TABLE attempt ADD COLUMN usage TEXT;

-- The log gets a number of its own: what the search index names must not move when the file is
-- compacted. Events are numbered in the order in which they were written, over all conversations.
DROP TRIGGER event_stays;
ALTER TABLE event RENAME TO event_before;
DROP INDEX event_projectable;
CREATE TABLE event (
  n INTEGER PRIMARY KEY,
  conversation INTEGER NOT NULL REFERENCES conversation (n),
  cursor INTEGER NOT NULL,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('message', 'tool', 'turn', 'notice', 'reset')),
  ordinal INTEGER,
  body TEXT NOT NULL,
  UNIQUE (conversation, cursor)
) STRICT;
INSERT INTO event SELECT rowid, conversation, cursor, at, kind, ordinal, body FROM event_before
  ORDER BY rowid;
DROP TABLE event_before;
CREATE UNIQUE INDEX event_projectable ON event (conversation, ordinal) WHERE ordinal IS NOT NULL;
-- The one change an event may see: its words go, when its conversation is purged.
CREATE TRIGGER event_stays BEFORE UPDATE ON event
WHEN NOT (NEW.n IS OLD.n AND NEW.conversation IS OLD.conversation AND NEW.cursor IS OLD.cursor
  AND NEW.at IS OLD.at AND NEW.kind IS OLD.kind AND NEW.ordinal IS OLD.ordinal
  AND NEW.body ->> 'purged' IS 1
  AND EXISTS (SELECT 1 FROM conversation WHERE n = OLD.conversation AND purged = 1))
BEGIN SELECT RAISE (ABORT, 'a log only grows'); END;

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
  state TEXT NOT NULL CHECK (state IN ('active', 'paused', 'done', 'exhausted')),
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
  state TEXT NOT NULL CHECK (state IN ('coming', 'kept', 'damaged', 'going'))
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
