package readable_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/failure/v1"
	"go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/carillon-scheduler/carillon/console/internal/readable"
)

func of(encoding, data string) *common.Payload {
	return &common.Payload{Metadata: map[string][]byte{"encoding": []byte(encoding)}, Data: []byte(data)}
}

func TestPayload(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]*common.Payload{
		"{\n  \"a\": [\n    1\n  ]\n}":   of("json/plain", `{"a":[1]}`),
		"no JSON":                        of("json/plain", "no JSON"),
		"json/plain, base64: /w==":       of("json/plain", "\xff"),
		"null":                           of("binary/null", ""),
		"binary/encrypted, base64: YWI=": of("binary/encrypted", "ab"),
		"no encoding, base64: ":          nil,
	} {
		assert.Equal(t, want, readable.Payload(p))
	}
	assert.Equal(t, `{"a":[1]}`, readable.Short(of("json/plain", "{\"a\": [1]}")))
	assert.Equal(t, "1\n2", readable.Payloads(&common.Payloads{Payloads: []*common.Payload{of("json/plain", "1"), of("json/plain", "2")}}))
}

func TestArguments(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " \n", "1", "1\n\"a b\"\n{\"c\":[]}\nnull"} {
		values, err := readable.Arguments(text)
		require.NoError(t, err)
		assert.Equal(t, strings.TrimSpace(text), readable.Typed(values))
	}
	for text, want := range map[string]string{
		"acme":             "value 1, line 1, character 1",
		"1\n{\"a\" 2}":     "value 2, line 2, character 6",
		"1 2 3 {\"é\": x}": "value 4, line 1, character 13",
		"{\"a\": 1":        "value 1, line 1, character 8",
		strings.Repeat("[", 200) + strings.Repeat("]", 200): "value 1: ",
	} {
		_, err := readable.Arguments(text)
		assert.ErrorContains(t, err, want)
	}
}

// FuzzArguments: what is read is written so that it is read again, and an error points into the text.
func FuzzArguments(f *testing.F) {
	f.Add("1 [2] {\"metadata\":{},\"data\":\"\"}")
	f.Add("\"\\ud800\" x")
	f.Fuzz(func(t *testing.T, text string) {
		values, err := readable.Arguments(text)
		if err != nil {
			return
		}
		again, err := readable.Arguments(readable.Typed(values))
		require.NoError(t, err)
		assert.Equal(t, readable.Typed(values), readable.Typed(again))
	})
}

func TestFailure(t *testing.T) {
	t.Parallel()
	failed := &failure.Failure{
		Message:     "activity error",
		FailureInfo: &failure.Failure_ActivityFailureInfo{ActivityFailureInfo: &failure.ActivityFailureInfo{ActivityType: &common.ActivityType{Name: "Charge"}}},
		Cause: &failure.Failure{
			Message: "the card is stolen", StackTrace: "main.go:1\n",
			FailureInfo: &failure.Failure_ApplicationFailureInfo{ApplicationFailureInfo: &failure.ApplicationFailureInfo{
				Type: "Card", Details: &common.Payloads{Payloads: []*common.Payload{of("json/plain", "51")}},
			}},
		},
	}
	assert.Equal(t, "activity Charge: activity error\ncaused by: Card: the card is stolen\ndetails: 51\nmain.go:1", readable.Failure(failed))
	assert.Equal(t, "the card is stolen (Card)", readable.Cause(failed))
	for range 100 {
		failed = &failure.Failure{Message: "again", Cause: failed}
	}
	assert.Contains(t, readable.Failure(failed), "There are more causes.")
	assert.Empty(t, readable.Cause(nil))
}

func TestCut(t *testing.T) {
	t.Parallel()
	shown, isCut := readable.Cut("aé", 2)
	assert.Equal(t, "a…", shown)
	assert.True(t, isCut)
	shown, isCut = readable.Cut("aé", 3)
	assert.Equal(t, "aé", shown)
	assert.False(t, isCut)
}

// at makes an event of a second.
func at(id int64, kind enums.EventType, e *history.HistoryEvent) *history.HistoryEvent {
	e.EventId, e.EventType, e.EventTime = id, kind, timestamppb.New(time.Unix(id, 0))
	return e
}

func scheduled(id int64, name string) *history.HistoryEvent {
	return at(id, enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, &history.HistoryEvent{Attributes: &history.HistoryEvent_ActivityTaskScheduledEventAttributes{
		ActivityTaskScheduledEventAttributes: &history.ActivityTaskScheduledEventAttributes{
			ActivityId: "1", ActivityType: &common.ActivityType{Name: name}, StartToCloseTimeout: durationpb.New(time.Minute),
			Input:  &common.Payloads{Payloads: []*common.Payload{of("json/plain", `{"a":1}`)}},
			Header: &common.Header{Fields: map[string]*common.Payload{"b": of("json/plain", "2"), "a": of("json/plain", "1")}},
		},
	}})
}

func started(id, by int64, attempt int32) *history.HistoryEvent {
	return at(id, enums.EVENT_TYPE_ACTIVITY_TASK_STARTED, &history.HistoryEvent{Attributes: &history.HistoryEvent_ActivityTaskStartedEventAttributes{
		ActivityTaskStartedEventAttributes: &history.ActivityTaskStartedEventAttributes{ScheduledEventId: by, Attempt: attempt},
	}})
}

func failed(id, by int64) *history.HistoryEvent {
	return at(id, enums.EVENT_TYPE_ACTIVITY_TASK_FAILED, &history.HistoryEvent{Attributes: &history.HistoryEvent_ActivityTaskFailedEventAttributes{
		ActivityTaskFailedEventAttributes: &history.ActivityTaskFailedEventAttributes{
			ScheduledEventId: by, Failure: &failure.Failure{Message: "no luck"}, RetryState: enums.RETRY_STATE_TIMEOUT,
		},
	}})
}

func TestEventOf(t *testing.T) {
	t.Parallel()
	event := readable.EventOf(scheduled(5, "Charge"))
	assert.Equal(t, readable.Event{
		ID: 5, Time: time.Unix(5, 0).UTC(), Type: "ActivityTaskScheduled", Main: `Charge · { "a": 1 }`,
		Attributes: []readable.Attribute{
			{"activityId", "1"}, {"activityType.name", "Charge"}, {"header.fields.a", "1"}, {"header.fields.b", "2"}, {"input", "{\n  \"a\": 1\n}"},
			{"startToCloseTimeout", "1m0s"},
		},
	}, event)
	event = readable.EventOf(failed(7, 5))
	assert.Equal(t, "no luck", event.Main)
	assert.Equal(t, []readable.Attribute{{"failure", "no luck"}, {"scheduledEventId", "5"}, {"retryState", "TIMEOUT"}}, event.Attributes)
	assert.Empty(t, readable.EventOf(&history.HistoryEvent{}).Attributes)
}

func TestLanes(t *testing.T) {
	t.Parallel()
	task := func(id int64, kind enums.EventType) *history.HistoryEvent {
		return at(id, kind, &history.HistoryEvent{})
	}
	lanes := readable.Lanes([]*history.HistoryEvent{
		failed(3, 1), // of an activity that was scheduled earlier
		scheduled(4, "Charge"), task(5, enums.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED), task(6, enums.EVENT_TYPE_WORKFLOW_TASK_STARTED), started(7, 4, 2),
		task(8, enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED), scheduled(9, "Pack"),
		at(10, enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, &history.HistoryEvent{Attributes: &history.HistoryEvent_WorkflowExecutionSignaledEventAttributes{
			WorkflowExecutionSignaledEventAttributes: &history.WorkflowExecutionSignaledEventAttributes{SignalName: "paid"},
		}}),
		failed(11, 4),
		at(12, enums.EVENT_TYPE_TIMER_STARTED, &history.HistoryEvent{Attributes: &history.HistoryEvent_TimerStartedEventAttributes{
			TimerStartedEventAttributes: &history.TimerStartedEventAttributes{TimerId: "t"},
		}}),
	})
	second := func(n int64) time.Time {
		if n == 0 {
			return time.Time{}
		}
		return time.Unix(n, 0).UTC()
	}
	assert.Equal(t, []readable.Lane{
		{Label: "activity, scheduled before", Bars: []readable.Bar{{Word: "failed", Kind: "bad", Event: 3, End: second(3)}}},
		{Label: "activity Charge", Bars: []readable.Bar{{Word: "failed", Kind: "bad", Event: 4, Start: second(4), Began: second(7), End: second(11), Attempt: 2}}},
		{Label: "workflow tasks", Bars: []readable.Bar{{Word: "completed", Kind: "good", Event: 5, Start: second(5), Began: second(6), End: second(8)}}},
		{Label: "activity Pack", Bars: []readable.Bar{{Word: "scheduled", Kind: "busy", Event: 9, Start: second(9)}}},
		{Label: "signals, updates and cancellations", Bars: []readable.Bar{{Word: "paid", Kind: "busy", Event: 10, Start: second(10), IsMoment: true}}},
		{Label: "timer t", Bars: []readable.Bar{{Word: "scheduled", Kind: "busy", Event: 12, Start: second(12)}}},
	}, lanes)
	assert.Empty(t, readable.Lanes(nil))
	assert.Equal(t, map[int64]string{6: "activity Pack"}, readable.Subjects([]*history.HistoryEvent{started(6, 5, 1), scheduled(5, "Pack"), failed(7, 3)}))
}

// TestEveryEventHasALane: no type of event, also without attributes or of a later version, breaks a timeline or a list.
func TestEveryEventHasALane(t *testing.T) {
	t.Parallel()
	for number := range enums.EventType_name {
		e := at(int64(number)+1, enums.EventType(number), &history.HistoryEvent{})
		assert.Len(t, readable.Lanes([]*history.HistoryEvent{e}), 1, enums.EventType(number))
		assert.Empty(t, readable.EventOf(e).Main)
	}
}
