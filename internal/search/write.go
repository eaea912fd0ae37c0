package search

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"time"

	"go.temporal.io/api/common/v1"

	"github.com/carillon-scheduler/carillon/internal/attributes"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/payload"
	"github.com/carillon-scheduler/carillon/internal/search/query"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// writer applies messages of a bucket within a transaction. A message that is older than the stored state changes nothing, so
// each may arrive again, in any order.
type writer struct {
	ctx context.Context
	tx  *sql.Tx
	put *statements
	log *slog.Logger
}

func (w *writer) exec(s *sql.Stmt, args ...any) error {
	_, err := w.tx.StmtContext(w.ctx, s).ExecContext(w.ctx, args...)
	return err
}

// apply applies one message of a bucket.
func (w *writer) apply(bucket string, m *bus.Message) error {
	name := strings.TrimPrefix(m.Subject, subjects.BucketSubject(bucket, ""))
	tokens := strings.Split(name, ".")
	if len(tokens) != 3 {
		return nil // a backfill's record
	}
	key, err := subjects.ParseStateKey(name)
	if err != nil {
		w.log.WarnContext(w.ctx, "search index passes over a key", "key", name, "error", err)
		return nil
	}
	kind := tokens[2]
	if kv.IsTombstone(m.Header) {
		return w.remove(key, kind, m.Sequence)
	}
	switch kind {
	case subjects.KindDefinition:
		err = w.definition(key, m)
	case subjects.KindGenerator:
		err = w.generator(key, m)
	case subjects.KindInvoker:
		err = w.invoker(key, m)
	}
	if errors.Is(err, codec.ErrFormat) {
		w.log.WarnContext(w.ctx, "search index passes over a record", "key", name, "error", err)
		return w.remove(key, kind, m.Sequence)
	}
	return err
}

func (w *writer) definition(key schedule.Key, m *bus.Message) error {
	var d wire.Definition
	if err := codec.Unmarshal(m.Data, &d); err != nil {
		return err
	}
	action := &d.Schedule.Action
	var number int64
	err := w.tx.StmtContext(w.ctx, w.put.definition).QueryRowContext(w.ctx, key.Namespace, key.ID, int64(m.Sequence), d.Incarnation,
		sqlBool(d.Schedule.State.Paused), action.Type, action.TaskQueue, cmp.Or(action.WorkflowID, key.ID),
		sqlTime(d.CreateTime), sqlTime(d.UpdateTime), sqlText(d.Schedule.State.Notes)).Scan(&number)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil // the stored one is newer
	case err != nil:
		return err
	}
	if err := w.exec(w.put.noAttributes, number); err != nil {
		return err
	}
	values := query.ValuesOf
	if action.Kind.IsWorkflow() {
		values = payloadValues
	}
	return cmp.Or(
		w.know(key.Namespace, d.Schedule.SearchAttributes),
		w.attributes(number, query.Memo, action.Memo, values),
		w.attributes(number, query.SearchAttribute, action.SearchAttributes, values),
		w.attributes(number, query.ScheduleMemo, d.Schedule.Memo, payloadValues),
		w.attributes(number, query.ScheduleAttribute, d.Schedule.SearchAttributes, payloadValues),
	)
}

// valuesIn returns the values of an entry, and whether there is one at all.
type valuesIn func(data json.RawMessage) (values []query.Value, present bool)

// payloadValues are the [valuesIn] an entry that is a payload.
func payloadValues(data json.RawMessage) (values []query.Value, present bool) {
	return valuesOf(payloadOf(data))
}

func payloadOf(data json.RawMessage) *common.Payload {
	p, problem := payload.Parse(data)
	if problem != nil {
		p = payload.JSON(data) // no valid schedule has it
	}
	return &common.Payload{Metadata: p.Metadata, Data: p.Data}
}

// know notes the search attributes that schedules of a namespace have themselves. The type of each is that which it had first.
func (w *writer) know(namespace string, own map[string]json.RawMessage) error {
	for name, data := range own {
		if err := w.exec(w.put.putAttributeType, namespace, name, int64(attributes.TypeOf(payloadOf(data)))); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) attributes(number int64, source query.Source, entries map[string]json.RawMessage, read valuesIn) error {
	for name, data := range entries {
		values, present := read(data)
		if present && len(values) == 0 {
			if err := w.exec(w.put.attribute, number, string(source), name, "", ""); err != nil {
				return err
			}
		}
		for _, v := range values {
			if err := w.exec(w.put.attribute, number, string(source), name, classOf(v), sqlValue(v)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *writer) generator(key schedule.Key, m *bus.Message) error {
	var g wire.GeneratorState
	if err := codec.Unmarshal(m.Data, &g); err != nil {
		return err
	}
	return w.exec(w.put.generator, key.Namespace, key.ID, int64(m.Sequence), g.Incarnation, sqlTime(g.Next))
}

func (w *writer) invoker(key schedule.Key, m *bus.Message) error {
	var i wire.InvokerState
	if err := codec.Unmarshal(m.Data, &i); err != nil {
		return err
	}
	status, closed := lastRun(i.Runs())
	running := 0
	for n := range i.Starts {
		if i.Starts[n].Running() {
			running++
		}
	}
	return w.exec(w.put.invoker, key.Namespace, key.ID, int64(m.Sequence), i.Incarnation, sqlText(string(status)),
		sqlTime(closed), running, wire.CountWaiting(i.Starts))
}

// lastRun returns how and when the last run to end has ended.
func lastRun(runs []schedule.Run) (status schedule.Status, closed time.Time) {
	for i := range runs {
		if run := &runs[i]; run.Status != "" && !run.CloseTime.Before(closed) {
			status, closed = run.Status, run.CloseTime
		}
	}
	return status, closed
}

// remove deletes a record from the index. A row with nothing left is deleted.
func (w *writer) remove(key schedule.Key, kind string, sequence uint64) error {
	switch kind {
	case subjects.KindDefinition, subjects.KindGenerator, subjects.KindInvoker:
	default:
		return nil
	}
	column := kind + "_incarnation"
	if kind == subjects.KindDefinition {
		column = "incarnation"
	}
	var number int64
	var empty bool
	err := w.tx.QueryRowContext(w.ctx, "UPDATE schedules SET "+column+" = NULL, "+kind+"_seq = ? "+
		"WHERE owner = ? AND id = ? AND "+kind+"_seq < ? "+
		"RETURNING number, coalesce(incarnation, generator_incarnation, invoker_incarnation) IS NULL",
		int64(sequence), key.Namespace, key.ID, int64(sequence)).Scan(&number, &empty)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	if kind == subjects.KindDefinition {
		if err := w.exec(w.put.noAttributes, number); err != nil {
			return err
		}
	}
	if empty {
		_, err = w.tx.ExecContext(w.ctx, "DELETE FROM schedules WHERE number = ?", number)
	}
	return err
}

// sqlTime returns a time as stored in the tables; nil for the zero time.
func sqlTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// sqlText returns a text that may be missing.
func sqlText(text string) any {
	if text == "" {
		return nil
	}
	return text
}
