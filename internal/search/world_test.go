package search

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/carillon-scheduler/carillon/internal/search/query"
	"github.com/carillon-scheduler/carillon/internal/search/query/querygen"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// records are the records of one schedule. They are also a row for queries, made without SQL.
type records struct {
	definition wire.Definition
	generator  wire.GeneratorState
	invoker    wire.InvokerState
}

func (r *records) Values(field query.Field) ([]query.Value, bool) {
	action := &r.definition.Schedule.Action
	switch field.Source {
	case query.Memo:
		return query.ValuesOf(action.Memo[field.Name])
	case query.SearchAttribute:
		return query.ValuesOf(action.SearchAttributes[field.Name])
	case query.ScheduleMemo:
		return payloadValues(r.definition.Schedule.Memo[field.Name])
	case query.ScheduleAttribute:
		return payloadValues(r.definition.Schedule.SearchAttributes[field.Name])
	case query.BuiltIn:
	}
	value, present := r.builtIn(field.Name)
	if !present {
		return nil, false
	}
	return []query.Value{value}, true
}

func (r *records) builtIn(name string) (query.Value, bool) {
	d := &r.definition
	generator, invoker := r.generator, r.invoker
	if generator.Incarnation != d.Incarnation {
		generator = wire.GeneratorState{}
	}
	if invoker.Incarnation != d.Incarnation {
		invoker = wire.InvokerState{}
	}
	status, closed := lastRun(invoker.Runs())
	switch name {
	case query.ID:
		return query.TextOf(d.ID), true
	case query.Paused:
		return query.BoolOf(d.Schedule.State.Paused), true
	case query.Type:
		return query.TextOf(d.Schedule.Action.Type), true
	case query.TaskQueue:
		return query.TextOf(d.Schedule.Action.TaskQueue), true
	case query.WorkflowID:
		return query.TextOf(cmp.Or(d.Schedule.Action.WorkflowID, d.ID)), true
	case query.NextTime:
		return query.TimeOf(generator.Next), !generator.Next.IsZero()
	case query.LastStatus:
		return query.TextOf(string(status)), status != ""
	case query.LastTime:
		return query.TimeOf(closed), !closed.IsZero()
	case query.Running:
		running := slices.DeleteFunc(slices.Clone(invoker.Starts), func(s wire.BufferedStart) bool { return !s.Running() })
		return query.IntOf(int64(len(running))), true
	case query.Waiting:
		return query.IntOf(int64(wire.CountWaiting(invoker.Starts))), true
	case query.CreateTime:
		return query.TimeOf(d.CreateTime), true
	case query.UpdateTime:
		return query.TimeOf(d.UpdateTime), !d.UpdateTime.IsZero()
	case query.Notes:
		return query.TextOf(d.Schedule.State.Notes), d.Schedule.State.Notes != ""
	}
	panic(name)
}

// world makes random schedules with values that queries use too.
func world(random *rand.Rand, n int) (all []*records) {
	for i := range n {
		d := wire.Definition{
			Namespace: "default", ID: fmt.Sprintf("%s-%03d", plainText(random), i), Incarnation: "now",
			CreateTime: pick(random, querygen.Times),
		}
		d.Schedule.Action = schedule.Action{
			Type: pick(random, querygen.Texts), TaskQueue: pick(random, querygen.Texts), WorkflowID: pick(random, querygen.Texts),
			Memo: entries(random), SearchAttributes: entries(random),
		}
		d.Schedule.Memo, d.Schedule.SearchAttributes = entries(random), entries(random)
		d.Schedule.State = schedule.State{Paused: random.IntN(2) == 0, Notes: pick(random, querygen.Texts)}
		if random.IntN(2) == 0 {
			d.UpdateTime = pick(random, querygen.Times)
		}
		r := &records{definition: d}
		incarnations := []string{"now", "now", "before"}
		if random.IntN(4) > 0 {
			r.generator = wire.GeneratorState{Incarnation: pick(random, incarnations), Next: pick(random, querygen.Times)}
		}
		if random.IntN(4) > 0 {
			r.invoker = wire.InvokerState{Incarnation: pick(random, incarnations), Starts: starts(random), Ended: ended(random)}
		}
		all = append(all, r)
	}
	return all
}

func pick[T any](random *rand.Rand, values []T) T { return values[random.IntN(len(values))] }

// plainText returns text that an ID may begin with.
func plainText(random *rand.Rand) string {
	return pick(random, []string{"a", "ab", "b", "ä", "it's", "%"})
}

func entries(random *rand.Rand) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for _, name := range querygen.Names {
		if random.IntN(3) > 0 {
			all[name] = json.RawMessage(value(random, 1))
		}
	}
	return all
}

func value(random *rand.Rand, depth int) string {
	switch random.IntN(9) {
	case 0:
		return "null"
	case 1:
		return fmt.Sprint(random.IntN(2) == 0)
	case 2:
		return fmt.Sprint(pick(random, querygen.Ints))
	case 3:
		return fmt.Sprint(pick(random, querygen.Doubles))
	case 4:
		return `{"a": 1}`
	case 5:
		return "1e999" // a number in JSON
	case 6:
		if depth == 0 {
			return "[]"
		}
		var elements []string
		for range random.IntN(4) {
			elements = append(elements, value(random, depth-1))
		}
		return "[" + strings.Join(elements, ", ") + "]"
	}
	text, _ := json.Marshal(pick(random, querygen.Texts))
	return string(text)
}

func starts(random *rand.Rand) (all []wire.BufferedStart) {
	for range random.IntN(4) {
		all = append(all, wire.BufferedStart{Phase: pick(random, []schedule.Phase{
			schedule.PhaseStarted, schedule.PhaseDeferred, schedule.PhaseReady,
		})})
	}
	return all
}

func ended(random *rand.Rand) (all wire.EndedRuns) {
	for range random.IntN(3) {
		all = all.With(&schedule.Run{
			Status:    pick(random, []schedule.Status{schedule.StatusCompleted, schedule.StatusFailed}),
			CloseTime: pick(random, querygen.Times),
		}, 2)
	}
	return all
}
