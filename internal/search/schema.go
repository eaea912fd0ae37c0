package search

// schemaVersion is the version of the tables and their contents. An index of another version is rebuilt.
const schemaVersion = 9

// schema has the tables.
//
// The records of a schedule arrive in any order, so a row may have no definition yet, or no longer have one: then its namespace
// is NULL and it is in no index of a namespace. The pools' values count only for the incarnation that they belong to. The
// computed columns express both.
//
// The entries of a journal arrive in order, so an execution is a row from its first event on.
//
// Times are microseconds since 1970. An attribute has one row for each of its values. If it has no comparable value, it has one
// row with an empty class.
const schema = `
CREATE TABLE meta (
	only    INTEGER PRIMARY KEY CHECK (only = 1),
	version INTEGER NOT NULL,
	cluster TEXT    NOT NULL
);
CREATE TABLE cursors (
	stream   TEXT PRIMARY KEY,
	sequence INTEGER NOT NULL, -- up to which the stream has been read
	time     INTEGER NOT NULL, -- when that was written, in nanoseconds since 1970, by the clock of NATS
	current  INTEGER NOT NULL  -- when nothing was left to read, in microseconds, by the clock of this machine
);
CREATE TABLE schedules (
	number INTEGER PRIMARY KEY,
	owner  TEXT NOT NULL,
	id     TEXT NOT NULL,

	definition_seq INTEGER NOT NULL DEFAULT 0,
	incarnation    TEXT,
	paused         INTEGER,
	type           TEXT,
	task_queue     TEXT,
	workflow_id    TEXT,
	create_time    INTEGER,
	update_time    INTEGER,
	notes          TEXT,

	generator_seq         INTEGER NOT NULL DEFAULT 0,
	generator_incarnation TEXT,
	generator_next        INTEGER,

	invoker_seq         INTEGER NOT NULL DEFAULT 0,
	invoker_incarnation TEXT,
	invoker_status      TEXT,
	invoker_closed      INTEGER,
	invoker_running     INTEGER,
	invoker_waiting     INTEGER,

	namespace   TEXT    AS (CASE WHEN incarnation IS NOT NULL THEN owner END),
	next_time   INTEGER AS (CASE WHEN generator_incarnation = incarnation THEN generator_next END),
	last_status TEXT    AS (CASE WHEN invoker_incarnation = incarnation THEN invoker_status END),
	last_time   INTEGER AS (CASE WHEN invoker_incarnation = incarnation THEN invoker_closed END),
	running     INTEGER AS (CASE WHEN invoker_incarnation = incarnation THEN invoker_running ELSE 0 END),
	waiting     INTEGER AS (CASE WHEN invoker_incarnation = incarnation THEN invoker_waiting ELSE 0 END),
	UNIQUE (owner, id)
);
CREATE TABLE attributes (
	owner  INTEGER NOT NULL,
	source TEXT    NOT NULL,
	name   TEXT    NOT NULL,
	class  TEXT    NOT NULL,
	value          NOT NULL,
	PRIMARY KEY (owner, source, name, class, value)
) WITHOUT ROWID;
CREATE TABLE executions (
	number      INTEGER PRIMARY KEY,
	namespace   TEXT    NOT NULL,
	workflow_id TEXT    NOT NULL,
	run_id      TEXT    NOT NULL,
	sequence    INTEGER NOT NULL, -- of the last entry that is in the row

	type           TEXT    NOT NULL,
	task_queue     TEXT    NOT NULL,
	status         INTEGER NOT NULL,
	start_time     INTEGER NOT NULL,
	execution_time INTEGER NOT NULL,
	close_time     INTEGER,
	duration       INTEGER, -- in nanoseconds
	events         INTEGER NOT NULL,
	bytes          INTEGER NOT NULL, -- of the events as they are encoded
	transitions    INTEGER NOT NULL,

	parent_workflow_id TEXT,
	parent_run_id      TEXT,
	root_workflow_id   TEXT,
	root_run_id        TEXT,
	info               BLOB NOT NULL, -- a WorkflowExecutionInfo with what has no column

	closed INTEGER AS (coalesce(close_time, 9223372036854775807)),
	UNIQUE (namespace, run_id)
);
CREATE TABLE execution_attributes (
	owner     INTEGER NOT NULL,
	name      TEXT    NOT NULL,
	class     TEXT    NOT NULL,
	value             NOT NULL,
	namespace TEXT    NOT NULL, -- that of the owner
	PRIMARY KEY (owner, name, class, value)
) WITHOUT ROWID;
CREATE TABLE attribute_types (
	namespace TEXT    NOT NULL,
	name      TEXT    NOT NULL,
	type      INTEGER NOT NULL, -- of the first value, as Temporal numbers types
	PRIMARY KEY (namespace, name)
) WITHOUT ROWID;
CREATE TABLE added_types (
	namespace TEXT    NOT NULL,
	name      TEXT    NOT NULL,
	type      INTEGER NOT NULL, -- with which the attribute was added to the namespace
	PRIMARY KEY (namespace, name)
) WITHOUT ROWID;
CREATE TABLE retentions (
	namespace TEXT    PRIMARY KEY,
	keep      INTEGER NOT NULL -- for how long a run is kept after its end, in microseconds
) WITHOUT ROWID;
CREATE TABLE namespaces (
	name    TEXT    PRIMARY KEY,
	created INTEGER NOT NULL -- of the record of the namespace; when it was deleted, if that is later
) WITHOUT ROWID;
`

// indexes are made once the tables have been filled for the first time, because that takes less time than keeping them up to date
// until then. Only few are on what the pools write, because each costs something with every action. The first has all short
// columns, for queries that no other index helps; it is a fraction of the table.
const indexes = `
CREATE INDEX IF NOT EXISTS by_id          ON schedules (namespace, id, paused, type, task_queue, next_time, last_status,
	last_time, running, waiting, create_time, update_time);
CREATE INDEX IF NOT EXISTS by_task_queue  ON schedules (namespace, task_queue, id);
CREATE INDEX IF NOT EXISTS by_paused      ON schedules (namespace, paused, id);
CREATE INDEX IF NOT EXISTS by_type        ON schedules (namespace, type, id);
CREATE INDEX IF NOT EXISTS by_notes       ON schedules (namespace, notes, id);
CREATE INDEX IF NOT EXISTS by_create_time ON schedules (namespace, create_time, id);
CREATE INDEX IF NOT EXISTS by_next_time   ON schedules (namespace, next_time, id);
CREATE INDEX IF NOT EXISTS by_last_status ON schedules (namespace, last_status, id);
CREATE INDEX IF NOT EXISTS by_value       ON attributes (source, name, class, value, owner);
`

// executionIndexes are the same for executions. All but the last five have the usual order of a list. Those of events and bytes have only long
// histories, since they change with every entry: see isLong.
const executionIndexes = `
CREATE INDEX IF NOT EXISTS executions_by_close    ON executions (namespace, closed, start_time, run_id);
CREATE INDEX IF NOT EXISTS executions_by_status   ON executions (namespace, status, closed, start_time, run_id);
CREATE INDEX IF NOT EXISTS executions_by_type     ON executions (namespace, type, closed, start_time, run_id);
CREATE INDEX IF NOT EXISTS executions_by_workflow ON executions (namespace, workflow_id, closed, start_time, run_id);
CREATE INDEX IF NOT EXISTS executions_by_queue    ON executions (namespace, task_queue, run_id);
CREATE INDEX IF NOT EXISTS executions_by_start    ON executions (namespace, start_time, run_id);
CREATE INDEX IF NOT EXISTS executions_by_events   ON executions (namespace, events) WHERE events >= 1000;
CREATE INDEX IF NOT EXISTS executions_by_bytes    ON executions (namespace, bytes) WHERE bytes >= 1000000;
CREATE INDEX IF NOT EXISTS executions_by_value    ON execution_attributes (namespace, name, class, value, owner);
`
