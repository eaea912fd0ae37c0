package query

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"

	"github.com/carillon-scheduler/carillon/internal/suggest"
)

// The fields that every execution has, as Temporal names them.
const (
	WorkflowIDOf         = "WorkflowId"
	RunID                = "RunId"
	WorkflowType         = "WorkflowType"
	ExecutionStatus      = "ExecutionStatus"
	StartTime            = "StartTime"
	ExecutionTime        = "ExecutionTime"
	CloseTime            = "CloseTime"
	ExecutionDuration    = "ExecutionDuration"
	QueueOf              = "TaskQueue"
	HistoryLength        = "HistoryLength"
	HistorySizeBytes     = "HistorySizeBytes"
	StateTransitionCount = "StateTransitionCount"
	ParentWorkflowID     = "ParentWorkflowId"
	ParentRunID          = "ParentRunId"
	RootWorkflowID       = "RootWorkflowId"
	RootRunID            = "RootRunId"
)

// executionFields are those fields and their types, in the order in which errors list them. A status is the number that Temporal gives it. A
// duration counts in nanoseconds.
var executionFields = []builtIn{
	{WorkflowIDOf, Text}, {RunID, Text}, {WorkflowType, Text}, {ExecutionStatus, Int}, {StartTime, Time}, {ExecutionTime, Time},
	{CloseTime, Time}, {ExecutionDuration, Int}, {QueueOf, Text}, {HistoryLength, Int}, {HistorySizeBytes, Int},
	{StateTransitionCount, Int}, {ParentWorkflowID, Text}, {ParentRunID, Text}, {RootWorkflowID, Text}, {RootRunID, Text},
}

// ExecutionFields returns the names of the fields that every execution has.
func ExecutionFields() []string { return namesOf(executionFields) }

var executionStatus = Field{Execution, ExecutionStatus}

// statuses are the names of the statuses. The place is the number of a status.
var statuses = []string{"", "Running", "Completed", "Failed", "Canceled", "Terminated", "ContinuedAsNew", "TimedOut", "Paused"}

// Known says what is known about the search attributes of executions, by name. Those that the service defines need not be there.
type Known map[string]Attribute

// Attribute is what is known about a search attribute.
type Attribute struct {
	// Type is the type that it was added with, or else the type of the first value that an execution had.
	Type enums.IndexedValueType
	// Added says that it was added to the namespace: then nothing else than its type makes sense.
	Added bool
}

// ParseExecutions makes a query about executions of a text. An attribute that is not known is compared as the value in the query suggests. The
// error is an [*Error].
func ParseExecutions(text string, known Known) (*Query, error) {
	return (&parser{scanner: scanner{text: text, temporal: true}, executions: true, known: known}).parse()
}

func (p *parser) atGroup() bool { return p.executions && p.token.is("group") }

// groups are the fields of every execution by which executions are counted. Others have too many values.
var groups = []string{ExecutionStatus, WorkflowType, QueueOf}

// group reads how to count.
func (p *parser) group() (*Field, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if err := p.expect("by"); err != nil {
		return nil, err
	}
	if !p.atField() {
		return nil, p.expected("a field")
	}
	at := p.token.at
	field, err := p.field()
	if err != nil {
		return nil, err
	}
	if field.Source == Execution && !slices.Contains(groups, field.Name) || p.isWords(field) {
		return nil, errorAt(at, "executions are not counted by %s: use %s, or a search attribute that is no text", field, strings.Join(groups, ", "))
	}
	return &field, nil
}

// executionValue makes a value of the type of a field that every execution has.
func executionValue(field Field, value Value, t token) (Value, error) {
	switch {
	case field == executionStatus:
		return statusValue(value, t)
	case field.Name == ExecutionDuration && value.Kind == Text:
		d, ok := parseDuration(value.Text)
		if !ok {
			return Value{}, errorAt(t.at, "%s is a duration, and %s none: use one such as '1h30m', '2d' or '01:30:00', or a number of nanoseconds",
				field, t.describe())
		}
		return IntOf(int64(d)), nil
	case field.Kind() == Time && value.Kind == Int:
		at := time.Unix(0, value.Int)
		return TimeOf(at), nil
	}
	return typed(field, Equal, value, t)
}

// statusValue reads the name or the number of a status.
func statusValue(value Value, t token) (Value, error) {
	const long = "WORKFLOW_EXECUTION_STATUS_"
	if value.Kind == Int && 0 < value.Int && value.Int < int64(len(statuses)) {
		return value, nil
	}
	name := strings.ReplaceAll(strings.TrimPrefix(value.Text, long), "_", "")
	i := slices.IndexFunc(statuses, func(known string) bool { return strings.EqualFold(known, name) })
	if value.Kind == Text && i > 0 {
		return IntOf(int64(i)), nil
	}
	known := statuses[1:]
	if meant := suggest.Nearest(value.Text, known); value.Kind == Text && meant != "" {
		return Value{}, errorAt(t.at, "%s is no status: did you mean %s?", t.describe(), quote(meant))
	}
	return Value{}, errorAt(t.at, "%s is no status: use one of %s", t.describe(), strings.Join(known, ", "))
}

// parseDuration reads a duration such as 1h30m, 2d12h or 01:30:00, or a number of nanoseconds.
func parseDuration(text string) (time.Duration, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Duration(n), true
	}
	if days, rest, ok := strings.Cut(text, "d"); ok {
		return parseDays(days, rest)
	}
	if d, err := time.ParseDuration(text); err == nil {
		return d, true
	}
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return 0, false
	}
	var total time.Duration
	for i, unit := range []time.Duration{time.Hour, time.Minute, time.Second} {
		n, err := strconv.ParseUint(parts[i], 10, 16)
		if err != nil || i > 0 && n > 59 {
			return 0, false
		}
		total += time.Duration(n) * unit
	}
	return total, true
}

// parseDays reads days, of which rest says the remaining hours and so on. Go has no unit for days.
func parseDays(days, rest string) (time.Duration, bool) {
	const most = math.MaxInt64/int64(24*time.Hour) - 1
	n, err := strconv.ParseInt(days, 10, 64)
	if err != nil || n < -most || n > most {
		return 0, false
	}
	total := time.Duration(n) * 24 * time.Hour
	if rest == "" {
		return total, true
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || d >= 24*time.Hour {
		return 0, false
	}
	if strings.HasPrefix(days, "-") {
		d = -d
	}
	return total + d, true
}
