package wire_test

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/scheduletest"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// update rewrites the golden files. Use it after adding a field, never to make a changed or removed one pass: what is
// stored in the field today must be readable tomorrow.
var update = flag.Bool("update", false, "rewrite the golden files")

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, want := range scheduletest.Records() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("testdata", "golden", name+".msgpack")
			if *update {
				data, err := codec.Marshal(want)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(path, data, 0o644))
			}
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			got := reflect.New(reflect.TypeOf(want).Elem()).Interface()
			require.NoError(t, codec.Unmarshal(data, got))
			require.Equal(t, want, got)
		})
	}
}

// TestGoldenV1 reads what the first releases wrote: the fields that were added since are zero.
func TestGoldenV1(t *testing.T) {
	t.Parallel()
	for name, want := range scheduletest.Records() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(filepath.Join("testdata", "golden", "v1-"+name+".msgpack"))
			require.NoError(t, err)
			withoutLater(want)
			got := reflect.New(reflect.TypeOf(want).Elem()).Interface()
			require.NoError(t, codec.Unmarshal(data, got))
			require.Equal(t, want, got)
		})
	}
}

// withoutLater clears what came after the files v1-….
func withoutLater(record any) {
	switch r := record.(type) {
	case *wire.Definition:
		spec := &r.Schedule.Spec
		spec.ExcludeDates, spec.Blackouts, spec.ExcludeCalendarsNamed, spec.DST = nil, nil, nil, schedule.DST{}
		for _, c := range []*schedule.StructuredCalendar{&spec.StructuredCalendars[0], &spec.ExcludeStructuredCalendars[0]} {
			c.LastDayOfMonth, c.NearestWeekday, c.LastWeekday, c.NthDayOfWeek, c.LastDayOfWeek = nil, nil, false, nil, nil
		}
		r.Schedule.Policies.CatchupMode, r.Schedule.Policies.LostRuns, r.Schedule.Action.HeartbeatTimeout = "", "", 0
		r.Schedule.Memo, r.Schedule.SearchAttributes = nil, nil
		run := scheduletest.Schedule().Action
		run.Kind, run.HeartbeatTimeout = "", 0
		r.Schedule.Action = run
		r.PausedBy, r.PauseTime, r.Skips, r.Requests, r.Events, r.Applied = "", time.Time{}, nil, nil, nil, nil
		r.Predecessor, r.PredecessorClosed, r.Closing = nil, "", false
		r.Calendars, r.CalendarsVersion, r.ReplanTime, r.ReplanFrom = nil, 0, time.Time{}, time.Time{}
	case *wire.GeneratorState:
		r.LastNominal, r.Passed = time.Time{}, time.Time{}
		r.ZoneData, r.ZoneRules, r.ZoneOffset = "", "", 0
	case *wire.InvokerState:
		progress := r.Sources[schedule.SourceAuto]
		progress.LastSuperseded = 0
		progress.LastCount, progress.Complete, progress.Withdrawn = 0, false, false
		progress.Version, progress.LastNominal, progress.Settled = 0, time.Time{}, time.Time{}
		r.Sources[schedule.SourceAuto] = progress
		startWithoutLater(&r.Starts[0])
		r.Ended, r.LastDue, r.Abandoned = nil, time.Time{}, false
		r.Controls[0].Reason, r.AskAt = "", time.Time{}
		r.Controls[0].ActionKind = ""
		r.Counters.SkippedOnRequest = 0
		eventWithoutLater(&r.Outbox[0])
	case *wire.BackfillState:
		r.Total, r.TotalVersion, r.Identity, r.RequestID, r.Version, r.Canceled, r.CanceledBy = 0, 0, "", "", 0, false, ""
		r.CancelRequestID = ""
		r.Trigger.Input, r.Trigger.Headers, r.Trigger.Memo, r.Range.Note = nil, nil, nil, ""
		r.Trigger.NominalTime = time.Time{}
	case *wire.Wake:
		r.Told, r.Runs, r.Created, r.GuardAgain = false, "", nil, 0
	case *wire.Enqueue:
		r.Superseded, r.DropReason = 0, ""
		r.MissedSpan, r.DroppedSpan, r.SupersededSpan, r.Complete = wire.Span{}, wire.Span{}, wire.Span{}, false
		startWithoutLater(&r.Starts[0])
	}
}

func startWithoutLater(s *wire.BufferedStart) {
	s.Delay, s.ActionKind = nil, ""
	s.Identity, s.Skip, s.Overridden, s.RunAttempt, s.Worker, s.Outcome = "", false, false, 0, "", schedule.Outcome{}
}

func eventWithoutLater(e *schedule.Event) {
	e.CloseTime, e.First, e.Last, e.ActionKind = time.Time{}, time.Time{}, time.Time{}, ""
	e.Source, e.Overlap, e.TaskQueue, e.Identity, e.Outcome = "", "", "", "", schedule.Outcome{}
}

// A field that the samples leave at zero would not be protected by the golden files.
func TestGoldenFillsEveryField(t *testing.T) {
	t.Parallel()
	for name, value := range scheduletest.Records() {
		for _, path := range zeroFields(name, reflect.ValueOf(value)) {
			t.Errorf("%s is not set in its sample: set it and run the tests with -update", path)
		}
	}
}

// zeroFields returns the paths below v that hold a zero value.
func zeroFields(path string, v reflect.Value) []string {
	if v.IsZero() {
		return []string{path}
	}
	var zero []string
	switch v.Kind() {
	case reflect.Pointer:
		return zeroFields(path, v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return nil
		}
		for i := range v.NumField() {
			zero = append(zero, zeroFields(path+"."+v.Type().Field(i).Name, v.Field(i))...)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return nil
		}
		for i := range v.Len() {
			zero = append(zero, zeroFields(path+"["+strconv.Itoa(i)+"]", v.Index(i))...)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			zero = append(zero, zeroFields(path+"["+key.String()+"]", v.MapIndex(key))...)
		}
	}
	return zero
}
