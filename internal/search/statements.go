package search

import (
	"context"
	"database/sql"
	"fmt"
)

const putDefinition = `INSERT INTO schedules
	(owner, id, definition_seq, incarnation, paused, type, task_queue, workflow_id, create_time, update_time, notes)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (owner, id) DO UPDATE SET definition_seq = excluded.definition_seq, incarnation = excluded.incarnation,
		paused = excluded.paused, type = excluded.type, task_queue = excluded.task_queue, workflow_id = excluded.workflow_id,
		create_time = excluded.create_time, update_time = excluded.update_time, notes = excluded.notes
	WHERE excluded.definition_seq > definition_seq RETURNING number`

const putGenerator = `INSERT INTO schedules (owner, id, generator_seq, generator_incarnation, generator_next)
	VALUES (?, ?, ?, ?, ?)
	ON CONFLICT (owner, id) DO UPDATE SET generator_seq = excluded.generator_seq,
		generator_incarnation = excluded.generator_incarnation, generator_next = excluded.generator_next
	WHERE excluded.generator_seq > generator_seq`

const putInvoker = `INSERT INTO schedules (owner, id, invoker_seq, invoker_incarnation, invoker_status, invoker_closed,
		invoker_running, invoker_waiting)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (owner, id) DO UPDATE SET invoker_seq = excluded.invoker_seq,
		invoker_incarnation = excluded.invoker_incarnation, invoker_status = excluded.invoker_status,
		invoker_closed = excluded.invoker_closed, invoker_running = excluded.invoker_running,
		invoker_waiting = excluded.invoker_waiting
	WHERE excluded.invoker_seq > invoker_seq`

const (
	noAttributes = "DELETE FROM attributes WHERE schedule = ?"
	// putAttribute skips a value that a list contains twice.
	putAttribute = "INSERT OR IGNORE INTO attributes VALUES (?, ?, ?, ?, ?)"
)

// statements run for every record. They are prepared, because parsing them takes longer than running them.
type statements struct {
	definition, generator, invoker, noAttributes, attribute *sql.Stmt
}

func prepareStatements(ctx context.Context, db *sql.DB) (s statements, err error) {
	for text, into := range map[string]**sql.Stmt{
		putDefinition: &s.definition, putGenerator: &s.generator, putInvoker: &s.invoker,
		noAttributes: &s.noAttributes, putAttribute: &s.attribute,
	} {
		if *into, err = db.PrepareContext(ctx, text); err != nil {
			return s, fmt.Errorf("prepare %.40q: %w", text, err)
		}
	}
	return s, nil
}
