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
	noAttributes = "DELETE FROM attributes WHERE owner = ?"
	// putAttribute skips a value that a list contains twice.
	putAttribute = "INSERT OR IGNORE INTO attributes VALUES (?, ?, ?, ?, ?)"
)

const (
	getExecution = `SELECT number, sequence, status, start_time, execution_time, coalesce(close_time, 0), events, bytes, transitions, info
		FROM executions WHERE namespace = ? AND run_id = ?`
	newExecution = `INSERT INTO executions (namespace, workflow_id, run_id, sequence, type, task_queue, status, start_time, execution_time,
			close_time, duration, events, bytes, transitions, parent_workflow_id, parent_run_id, root_workflow_id, root_run_id, info)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number`
	growExecution = `UPDATE executions SET sequence = ?, events = ?, bytes = ?, transitions = ? WHERE number = ?`
	setExecution  = `UPDATE executions SET status = ?, close_time = ?, duration = ?, info = ? WHERE number = ?`

	noExecutionAttributes = "DELETE FROM execution_attributes WHERE owner = ?"
	putExecutionAttribute = "INSERT OR IGNORE INTO execution_attributes VALUES (?, ?, ?, ?, ?)"
	putAttributeType      = "INSERT OR IGNORE INTO attribute_types VALUES (?, ?, ?)"
)

// statements run for every record. They are prepared, because parsing them takes longer than running them.
type statements struct {
	definition, generator, invoker, noAttributes, attribute        *sql.Stmt
	getExecution, newExecution, growExecution, setExecution        *sql.Stmt
	noExecutionAttributes, putExecutionAttribute, putAttributeType *sql.Stmt
}

func prepareStatements(ctx context.Context, db *sql.DB) (s statements, err error) {
	for text, into := range map[string]**sql.Stmt{
		putDefinition: &s.definition, putGenerator: &s.generator, putInvoker: &s.invoker,
		noAttributes: &s.noAttributes, putAttribute: &s.attribute,
		getExecution: &s.getExecution, newExecution: &s.newExecution, growExecution: &s.growExecution, setExecution: &s.setExecution,
		noExecutionAttributes: &s.noExecutionAttributes, putExecutionAttribute: &s.putExecutionAttribute,
		putAttributeType: &s.putAttributeType,
	} {
		if *into, err = db.PrepareContext(ctx, text); err != nil {
			return s, fmt.Errorf("prepare %.40q: %w", text, err)
		}
	}
	return s, nil
}
