package frontend

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/carillon-scheduler/carillon/schedule"
)

// texts are the schemas of types with a text form of their own. They have the names of the types.
var texts = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[time.Time](): {
		Type: "string", Format: "date-time", Pattern: `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:\d\d)$`,
	},
	reflect.TypeFor[schedule.Duration](): {
		Type: "string", Description: "such as 90s, 1h30m or 250ms",
		Pattern: `^[+-]?(0|((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$`,
	},
	reflect.TypeFor[schedule.CalendarField](): {
		Types: []string{"string", "integer"}, Description: `such as "9", "mon-fri" or "*/15"`,
	},
	reflect.TypeFor[schedule.OverlapPolicy](): enum(schedule.OverlapPolicies()...),
	reflect.TypeFor[schedule.ActionKind]():    enum(schedule.ActionKinds()...),
	reflect.TypeFor[schedule.CatchupMode]():   enum(schedule.CatchupModes()...),
	reflect.TypeFor[schedule.LostRunPolicy](): enum(schedule.LostRunPolicies()...),
	reflect.TypeFor[schedule.RunsPolicy]():    enum(schedule.RunsPolicies()...),
	reflect.TypeFor[schedule.GapPolicy]():     enum(schedule.GapSkip, schedule.GapShift),
	reflect.TypeFor[schedule.RepeatPolicy]():  enum(schedule.RepeatBoth, schedule.RepeatFirst, schedule.RepeatLast),
	reflect.TypeFor[schedule.EventKind]():     enum(schedule.EventKinds()...),
	reflect.TypeFor[schedule.Status]():        enum(append(schedule.Statuses(), schedule.StatusRunning)...),
	reflect.TypeFor[schedule.Phase](): enum(schedule.PhasePending, schedule.PhaseDeferred, schedule.PhaseReady,
		schedule.PhaseStarted, schedule.PhaseCompleted),
	reflect.TypeFor[schedule.BulkOperation](): enum(schedule.BulkOperations()...),
	reflect.TypeFor[schedule.BulkStatus](): enum(schedule.BulkRunning, schedule.BulkDone, schedule.BulkCanceled,
		schedule.BulkFailed),
	reflect.TypeFor[schedule.BulkOperation](): enum(schedule.BulkOperations()...),
	reflect.TypeFor[schedule.BulkStatus](): enum(schedule.BulkRunning, schedule.BulkDone, schedule.BulkCanceled,
		schedule.BulkFailed),
	reflect.TypeFor[schedule.DelayReason](): enum(schedule.DelayActionRate, schedule.DelayPendingRuns),
}

// objects are object types that have a name in schemas because they occur many times. None of them is embedded in another.
var objects = []reflect.Type{
	reflect.TypeFor[schedule.Calendar](),
	reflect.TypeFor[schedule.StructuredCalendar](),
	reflect.TypeFor[schedule.Range](),
}

// unnamed are the schemas of other types for which the inferred schema would be wrong.
var unnamed = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[json.RawMessage](): {Description: "any JSON"},
	reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
}

// named has the types of texts and objects by name.
var named = byName()

func byName() map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for t := range texts {
		types[t.Name()] = t
	}
	for _, t := range objects {
		types[t.Name()] = t
	}
	return types
}

// enum is the schema of a text that is one of some values, or empty, which means left out.
func enum[T ~string](values ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string", Enum: []any{""}}
	for _, value := range values {
		s.Enum = append(s.Enum, string(value))
	}
	return s
}
