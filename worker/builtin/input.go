package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

// decode reads the input of a run into a struct, and refuses unknown fields.
func decode(run *worker.Run, into any) error {
	if len(run.Input) == 0 {
		return worker.InvalidInput("action type %q needs an input, a JSON object: see docs/actions.md", run.Type)
	}
	if err := apitext.DecodeJSON(run.Input, into); err != nil {
		return worker.InvalidInput("the input does not fit action type %q: %v", run.Type, err)
	}
	return nil
}

// placeholder matches a placeholder in a text: a name in two pairs of braces.
var placeholder = regexp.MustCompile(`\{\{\s*([A-Za-z]*)\s*\}\}`)

// HasPlaceholder reports whether a text contains a placeholder. The built-in actions replace it, or refuse it if they do not know its name.
func HasPlaceholder(text string) bool { return placeholder.MatchString(text) }

// placeholders returns the values of the names for the inputs of a run.
func placeholders(run *worker.Run) map[string]string {
	nominal := run.NominalTime.UTC()
	last := string(run.LastSuccess)
	if last == "" {
		last = "null"
	}
	return map[string]string{
		"namespace": run.Namespace, "scheduleId": run.ScheduleID, "workflowId": run.WorkflowID,
		"runId": run.RunID, "requestId": run.RequestID, "attempt": strconv.Itoa(run.Attempt),
		"nominalTime": nominal.Format(time.RFC3339Nano), "nominalDate": nominal.Format(time.DateOnly),
		"nominalUnix": strconv.FormatInt(nominal.Unix(), 10), "dueTime": run.DueTime.UTC().Format(time.RFC3339Nano),
		"lastSuccess": last,
	}
}

// expander replaces the placeholders in the texts of one input. It keeps the first error.
type expander struct {
	values map[string]string
	err    error
}

func newExpander(run *worker.Run) *expander { return &expander{values: placeholders(run)} }

// text expands a text; escape makes a value fit into it.
func (e *expander) text(field, text string, escape func(string) string) string {
	return placeholder.ReplaceAllStringFunc(text, func(found string) string {
		name := placeholder.FindStringSubmatch(found)[1]
		value, ok := e.values[name]
		if !ok && e.err == nil {
			e.err = worker.InvalidInput("%s: there is no placeholder %s; there are %s", field, found,
				strings.Join(slices.Sorted(maps.Keys(e.values)), ", "))
		}
		return escape(value)
	})
}

func asIs(text string) string { return text }

// inJSON escapes a text for the inside of a JSON string.
func inJSON(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		return "" // cannot happen: every string has a JSON form
	}
	return string(quoted[1 : len(quoted)-1])
}

// payload returns the bytes to send for a body in an input: a text as it is, anything else as JSON.
func (e *expander) payload(field string, body json.RawMessage) (data []byte, isJSON bool) {
	var text string
	switch {
	case len(body) == 0 || string(body) == "null":
		return nil, false
	case json.Unmarshal(body, &text) == nil:
		return []byte(e.text(field, text, asIs)), false
	}
	// Valid JSON has two braces in a row only inside of strings.
	return []byte(e.text(field, string(body), inJSON)), true
}

// texts expands the values of a map.
func (e *expander) texts(field string, all map[string]string) map[string]string {
	expanded := make(map[string]string, len(all))
	for name, value := range all {
		expanded[name] = e.text(field+"."+name, value, asIs)
	}
	return expanded
}

// checkTimeout refuses an invalid timeout. Zero means the default of the action.
func checkTimeout(timeout schedule.Duration) error {
	if timeout < 0 {
		return worker.InvalidInput("timeout: %v must be positive", timeout.Std())
	}
	return nil
}

// withTimeout bounds the wait for an answer with the timeout of an input, or with the default of the action.
func withTimeout(
	ctx context.Context, timeout schedule.Duration, standard time.Duration,
) (context.Context, context.CancelFunc) {
	limit := cmp.Or(timeout.Std(), standard)
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v", limit))
}

// because returns why a context has ended if that caused the error, else the error.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// asText turns bytes into valid text.
func asText(data []byte) string { return strings.ToValidUTF8(string(data), "\uFFFD") }

// asResult returns a body as part of a result: as JSON if it is JSON, else as a text.
func asResult(data []byte) any {
	switch {
	case len(data) == 0:
		return nil
	case json.Valid(data):
		return json.RawMessage(data)
	}
	return asText(data)
}
