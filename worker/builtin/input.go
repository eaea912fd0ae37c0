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

// decode reads the input of a run into a struct, and refuses fields that it has not.
func decode(run *worker.Run, into any) error {
	if len(run.Input) == 0 {
		return worker.InvalidInput("action type %q needs an input, a JSON object: see docs/actions.md", run.Type)
	}
	if err := apitext.DecodeJSON(run.Input, into); err != nil {
		return worker.InvalidInput("the input does not fit action type %q: %v", run.Type, err)
	}
	return nil
}

// placeholder is one in a text: a name in two pairs of braces.
var placeholder = regexp.MustCompile(`\{\{\s*([A-Za-z]*)\s*\}\}`)

// HasPlaceholder reports whether a text has something that the built-in actions would replace, or refuse because they do not
// know the name.
func HasPlaceholder(text string) bool { return placeholder.MatchString(text) }

// placeholders are what the names stand for in the inputs of a run.
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

// text expands a text; escape makes a value fit in.
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

// inJSON makes a text fit between the quotes of a JSON text.
func inJSON(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		return "" // a string is always a JSON text
	}
	return string(quoted[1 : len(quoted)-1])
}

// payload is what a body of an input is sent as: a JSON text as it reads, anything else as JSON.
func (e *expander) payload(field string, body json.RawMessage) (data []byte, isJSON bool) {
	var text string
	switch {
	case len(body) == 0 || string(body) == "null":
		return nil, false
	case json.Unmarshal(body, &text) == nil:
		return []byte(e.text(field, text, asIs)), false
	}
	// Two braces in a row are only inside of texts.
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

// checkTimeout refuses a timeout that is none. Zero stands for the default of the action.
func checkTimeout(timeout schedule.Duration) error {
	if timeout < 0 {
		return worker.InvalidInput("timeout: %v must be positive", timeout.Std())
	}
	return nil
}

// withTimeout bounds the wait for an answer by the timeout of an input, or by the default of the action.
func withTimeout(
	ctx context.Context, timeout schedule.Duration, standard time.Duration,
) (context.Context, context.CancelFunc) {
	limit := cmp.Or(timeout.Std(), standard)
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v", limit))
}

// because returns why a context has ended, if that is the reason of an error, else the error.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// asText makes a text of what may be none.
func asText(data []byte) string { return strings.ToValidUTF8(string(data), "\uFFFD") }

// asResult is a body as part of a result: JSON as such, any other text as a text.
func asResult(data []byte) any {
	switch {
	case len(data) == 0:
		return nil
	case json.Valid(data):
		return json.RawMessage(data)
	}
	return asText(data)
}
