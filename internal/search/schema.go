package search

// schemaVersion is the version of the tables and their contents. An index of another version is rebuilt.
const schemaVersion = 2

// schema has the tables.
//
// The records of a schedule arrive in any order, so a row may have no definition yet, or no longer have one: then its namespace
// is NULL and it is in no index of a namespace. The pools' values count only for the incarnation that they belong to. The
// computed columns express both.
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
	shard    INTEGER PRIMARY KEY,
	sequence INTEGER NOT NULL, -- up to which the bucket has been read
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
	schedule INTEGER NOT NULL,
	source   TEXT    NOT NULL,
	name     TEXT    NOT NULL,
	class    TEXT    NOT NULL,
	value            NOT NULL,
	PRIMARY KEY (schedule, source, name, class, value)
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
CREATE INDEX IF NOT EXISTS by_value       ON attributes (source, name, class, value, schedule);
`
