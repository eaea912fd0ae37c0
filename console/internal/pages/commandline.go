package pages

import (
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
)

// document is a schedule with its ID, in the shape of a file.
type document struct {
	ID string `json:"id"`
	schedule.Schedule
}

// commandOf returns a command line that creates a schedule anew. It uses flags if those can say all that the schedule has, and otherwise hands in the
// schedule as YAML, which is text.
func commandOf(namespace, id string, s *schedule.Schedule, text string) string {
	var of string
	if namespace != "default" {
		of = " --namespace " + quoted(namespace)
	}
	flags, whole := flagsOf(s)
	if !whole {
		end := "END"
		for strings.Contains(text, end) {
			end += "_"
		}
		return "carillon schedule create" + of + " --file - <<'" + end + "'\n" + text + end + "\n"
	}
	if strings.HasPrefix(id, "-") {
		return "carillon schedule create" + of + flags.text() + " -- " + quoted(id) + "\n"
	}
	return "carillon schedule create " + quoted(id) + of + flags.text() + "\n"
}

// plainWord is what a shell takes as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// quoted returns a text as one word of a POSIX shell.
func quoted(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// flagList are flags of a command line. What a flag says is taken out of the schedule, so that what is left is what flags cannot say.
type flagList []string

// text returns the flags, each in a line of its own.
func (l flagList) text() string {
	var text strings.Builder
	for _, flag := range l {
		text.WriteString(" \\\n    " + flag)
	}
	return text.String()
}

func (l *flagList) add(name, value string) { *l = append(*l, "--"+name+" "+quoted(value)) }

// textFlag adds a flag unless its value is empty, and takes it out.
func textFlag[T ~string](l *flagList, name string, value *T) {
	if *value != "" {
		l.add(name, string(*value))
		*value = ""
	}
}

func boolFlag(l *flagList, name string, value *bool) {
	if *value {
		*l = append(*l, "--"+name)
		*value = false
	}
}

func intFlag(l *flagList, name string, value *int) {
	if *value != 0 {
		l.add(name, strconv.Itoa(*value))
		*value = 0
	}
}

func floatFlag(l *flagList, name string, value *float64) {
	if *value != 0 {
		l.add(name, strconv.FormatFloat(*value, 'g', -1, 64))
		*value = 0
	}
}

func durationFlag(l *flagList, name string, value *schedule.Duration) {
	if *value != 0 {
		l.add(name, value.String())
		*value = 0
	}
}

func timeFlag(l *flagList, name string, value *time.Time) {
	if !value.IsZero() {
		l.add(name, stamp(*value))
		*value = time.Time{}
	}
}

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }

// eachFlag adds a flag for each value of a list, and takes the list out.
func eachFlag[T any](l *flagList, name string, values *[]T, text func(T) string) {
	for _, value := range *values {
		l.add(name, text(value))
	}
	*values = nil
}

// pairFlags adds a flag for each entry of a map. A name with "=" cannot be said, and stays.
func pairFlags[T any](l *flagList, name string, values *map[string]T, text func(T) string) {
	for key := range *values {
		if key == "" || strings.Contains(key, "=") {
			return
		}
	}
	for _, key := range slices.Sorted(maps.Keys(*values)) {
		l.add(name, key+"="+text((*values)[key]))
	}
	*values = nil
}

func asIs[T ~string](text T) string { return string(text) }

func jsonText(value any) string {
	text, err := apitext.EncodeJSON(value)
	if err != nil {
		return fmt.Sprint(err) // a value of the API has a JSON form
	}
	return string(text)
}

func rawText(value json.RawMessage) string { return string(value) }

// flagsOf returns the flags of schedule create for a schedule. They are not whole if the schedule has something that no flag says.
func flagsOf(of *schedule.Schedule) (l flagList, whole bool) {
	text, err := apitext.EncodeJSON(of)
	var s schedule.Schedule
	if err != nil || apitext.DecodeJSON(text, &s) != nil { // a copy
		return nil, false
	}
	specFlags(&l, &s.Spec)
	actionFlags(&l, &s.Action)
	policyFlags(&l, &s.Policies)
	boolFlag(&l, "paused", &s.State.Paused)
	textFlag(&l, "notes", &s.State.Notes)
	if s.State.LimitedActions {
		l.add("remaining-actions", strconv.Itoa(s.State.RemainingActions))
		s.State.LimitedActions, s.State.RemainingActions = false, 0
	}
	pairFlags(&l, "schedule-memo", &s.Memo, rawText)
	pairFlags(&l, "schedule-search-attribute", &s.SearchAttributes, rawText)
	return l, jsonText(s) == jsonText(schedule.Schedule{})
}

func specFlags(l *flagList, spec *schedule.Spec) {
	eachFlag(l, "every", &spec.Intervals, func(i schedule.Interval) string {
		if i.Phase != 0 {
			return i.Every.String() + "/" + i.Phase.String()
		}
		return i.Every.String()
	})
	eachFlag(l, "cron", &spec.Cron, asIs)
	eachFlag(l, "calendar", &spec.Calendars, func(c schedule.Calendar) string { return jsonText(c) })
	eachFlag(l, "at", &spec.At, stamp)
	eachFlag(l, "exclude-calendar", &spec.ExcludeCalendars, func(c schedule.Calendar) string { return jsonText(c) })
	eachFlag(l, "exclude-calendar-named", &spec.ExcludeCalendarsNamed, asIs)
	eachFlag(l, "exclude-date", &spec.ExcludeDates, asIs)
	eachFlag(l, "blackout", &spec.Blackouts, func(b schedule.Blackout) string { return stamp(b.From) + "/" + stamp(b.To) })
	textFlag(l, "time-zone", &spec.TimeZone)
	timeFlag(l, "start", &spec.StartTime)
	timeFlag(l, "end", &spec.EndTime)
	textFlag(l, "dst-gap", &spec.DST.Gap)
	textFlag(l, "dst-repeat", &spec.DST.Repeat)
	durationFlag(l, "jitter", &spec.Jitter)
}

func actionFlags(l *flagList, action *schedule.Action) {
	kind := "type"
	if action.Kind == schedule.ActionWorkflow {
		kind = "workflow"
	}
	textFlag(l, kind, &action.Type)
	action.Kind = ""
	textFlag(l, "task-queue", &action.TaskQueue)
	if len(action.Input) > 0 {
		l.add("input", string(action.Input))
		action.Input = nil
	}
	pairFlags(l, "header", &action.Headers, asIs)
	pairFlags(l, "memo", &action.Memo, rawText)
	pairFlags(l, "search-attribute", &action.SearchAttributes, rawText)
	textFlag(l, "workflow-id", &action.WorkflowID)
	durationFlag(l, "run-timeout", &action.RunTimeout)
	durationFlag(l, "execution-timeout", &action.ExecutionTimeout)
	durationFlag(l, "task-timeout", &action.TaskTimeout)
	durationFlag(l, "heartbeat-timeout", &action.HeartbeatTimeout)
	intFlag(l, "priority", &action.Priority)
	textFlag(l, "fairness-key", &action.FairnessKey)
	floatFlag(l, "fairness-weight", &action.FairnessWeight)
	if action.RetryPolicy != nil {
		retryFlags(l, action)
	}
}

// retryFlags leaves a policy without any values: no flag asks for that.
func retryFlags(l *flagList, action *schedule.Action) {
	before, policy := len(*l), action.RetryPolicy
	durationFlag(l, "retry-initial-interval", &policy.InitialInterval)
	floatFlag(l, "retry-backoff", &policy.BackoffCoefficient)
	durationFlag(l, "retry-max-interval", &policy.MaximumInterval)
	intFlag(l, "retry-max-attempts", &policy.MaximumAttempts)
	eachFlag(l, "non-retryable-error", &policy.NonRetryableErrorTypes, asIs)
	if len(*l) > before {
		action.RetryPolicy = nil
	}
}

func policyFlags(l *flagList, policies *schedule.Policies) {
	textFlag(l, "overlap", &policies.Overlap)
	intFlag(l, "concurrency-limit", &policies.ConcurrencyLimit)
	durationFlag(l, "catchup-window", &policies.CatchupWindow)
	textFlag(l, "catchup-mode", &policies.CatchupMode)
	textFlag(l, "lost-runs", &policies.LostRuns)
	boolFlag(l, "pause-on-failure", &policies.PauseOnFailure)
	boolFlag(l, "keep-original-workflow-id", &policies.KeepOriginalWorkflowID)
}
