package query

import (
	"slices"
	"strconv"
	"strings"
	"time"

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

// ParseExecutions makes a query about executions of a text. isCustom reports whether an execution has a search attribute of a name; it only
// decides whether another name that is nearly the same is a mistake. The error is an [*Error].
func ParseExecutions(text string, isCustom func(name string) bool) (*Query, error) {
	return (&parser{scanner: scanner{text: text, executions: true}, isCustom: isCustom}).parse()
}

func (p *parser) atGroup() bool { return p.scanner.executions && p.token.is("group") }

// group reads how to count. Executions are counted by status or not at all.
func (p *parser) group() error {
	if err := p.advance(); err != nil {
		return err
	}
	if err := p.expect("by"); err != nil {
		return err
	}
	if p.token.kind != wordToken && p.token.kind != nameToken || p.token.text != ExecutionStatus {
		return p.expected(ExecutionStatus + ", by which alone executions can be counted")
	}
	return p.advance()
}

// executionField reads the name of a field of an execution. What is none of those that every execution has is a search attribute.
func (p *parser) executionField() (Field, error) {
	t := p.token
	if t.text == "" {
		return Field{}, errorAt(t.at, "expected a name in the backquotes")
	}
	field := Field{Execution, t.text}
	if field.Kind() == "" {
		field.Source = Custom
		if t.kind == wordToken && (p.isCustom == nil || !p.isCustom(t.text)) {
			if meant := suggest.Nearest(t.text, ExecutionFields()); meant != "" {
				return Field{}, errorAt(t.at, "no execution has %s: did you mean %s? The name of a search attribute may stand in backquotes: %s",
					shorten(t.text), meant, backquote(shorten(t.text)))
			}
		}
	}
	return field, p.advance()
}

// customName returns the name of a search attribute as a query has it. Where it might be taken for something else, it stands in backquotes.
func customName(name string) string {
	plain := name != "" && !isDigit(name[0]) && name[0] != '-' && !IsKeyword(name) && !strings.EqualFold(name, "group") &&
		suggest.Nearest(name, ExecutionFields()) == ""
	for i := range len(name) {
		plain = plain && isNameByte(name[i])
	}
	if plain {
		return name
	}
	return backquote(name)
}

func backquote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// executionValue makes a value of the type of a field that every execution has.
func executionValue(field Field, value Value, t token) (Value, error) {
	switch {
	case field == executionStatus:
		return statusValue(value, t)
	case field.Name == ExecutionDuration && value.Kind == Text:
		d, ok := parseDuration(value.Text)
		if !ok {
			return Value{}, errorAt(t.at, "%s is a duration, and %s none: use one such as '1h30m' or '01:30:00', or a number of nanoseconds",
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

// parseDuration reads a duration such as 1h30m or 01:30:00.
func parseDuration(text string) (time.Duration, bool) {
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
