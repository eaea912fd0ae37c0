package worker

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func validRequest() schedule.ActionRequest {
	names := subjects.Default()
	key := schedule.Key{Namespace: "default", ID: "s"}
	return schedule.ActionRequest{
		Namespace: "default", ScheduleID: "s", WorkflowID: "wf 1", RunID: "run", RequestID: "req", Type: "t",
		TaskQueue: "q", Callback: names.Callback(3, key, "q", "req"),
	}
}

func TestParseRequest(t *testing.T) {
	t.Parallel()
	const subject = "carillon.action.default.q.wf=201"
	names := subjects.Default()
	for name, test := range map[string]struct {
		change func(*schedule.ActionRequest)
		err    string
	}{
		"valid":              {change: func(*schedule.ActionRequest) {}},
		"no request ID":      {change: func(r *schedule.ActionRequest) { r.RequestID = "" }, err: "requestId is missing"},
		"no run ID":          {change: func(r *schedule.ActionRequest) { r.RunID = "" }, err: "runId is missing"},
		"no type":            {change: func(r *schedule.ActionRequest) { r.Type = "" }, err: "type is missing"},
		"no callback":        {change: func(r *schedule.ActionRequest) { r.Callback = "" }, err: "callback is missing"},
		"other workflow":     {change: func(r *schedule.ActionRequest) { r.WorkflowID = "wf 2" }, err: "belong to subject"},
		"other namespace":    {change: func(r *schedule.ActionRequest) { r.Namespace = "x" }, err: "belong to subject"},
		"callback elsewhere": {change: func(r *schedule.ActionRequest) { r.Callback = "carillon.task.0.generate.a.b.c" }, err: "not a callback subject"},
		"callback of another queue": {change: func(r *schedule.ActionRequest) {
			r.Callback = names.Callback(3, schedule.Key{Namespace: "default", ID: "s"}, "other", "req")
		}, err: "is of another task queue"},
		"callback of another namespace": {change: func(r *schedule.ActionRequest) {
			r.Callback = names.Callback(3, schedule.Key{Namespace: "other", ID: "s"}, "q", "req")
		}, err: "is of another task queue"},
		"foreign callback": {change: func(r *schedule.ActionRequest) { r.Callback = "other.callback.0.a.b.c.d" }, err: "not a callback subject"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := validRequest()
			test.change(&req)
			data, err := json.Marshal(req)
			require.NoError(t, err)
			got, err := parseRequest(subjects.Default(), subject, data)
			if test.err != "" {
				require.ErrorContains(t, err, test.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, req, got)
		})
	}
	for _, garbage := range []string{"", "null", "{}", "[]", "hello", `{"deadline":"soon"}`, "\xff"} {
		_, err := parseRequest(subjects.Default(), subject, []byte(garbage))
		assert.ErrorContains(t, err, "not a start request", garbage)
	}
}

func FuzzParse(f *testing.F) {
	data, err := json.Marshal(validRequest())
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte(`{"kind":"cancel","runId":"r"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		req, err := parseRequest(subjects.Default(), "carillon.action.default.q.wf=201", data)
		if err == nil && (req.RequestID == "" || req.Callback == "") {
			t.Errorf("accepted %q", data)
		}
		if control, err := parseControl(data); err == nil && (control.RunID == "" || causeOf(control.Kind) == nil) {
			t.Errorf("accepted %q", data)
		}
	})
}

func TestParseControl(t *testing.T) {
	t.Parallel()
	control, err := parseControl([]byte(`{"kind":"terminate","runId":"r","requestId":"q","workflowId":"w"}`))
	require.NoError(t, err)
	assert.Equal(t, ErrTerminated, causeOf(control.Kind))
	for _, garbage := range []string{"", "{}", `{"kind":"cancel"}`, `{"kind":"hug","runId":"r"}`} {
		_, err := parseControl([]byte(garbage))
		assert.Error(t, err, garbage)
	}
}

func TestRecentForgets(t *testing.T) {
	t.Parallel()
	r := newRecent[int](3, time.Minute)
	for i := range 5 {
		r.add(strconv.Itoa(i), i, noon)
		r.add(strconv.Itoa(i), i*10, noon) // a repeat takes no room
	}
	for i := range 5 {
		value, ok := r.get(strconv.Itoa(i), noon)
		assert.Equal(t, i >= 2, ok, i)
		if ok {
			assert.Equal(t, i*10, value)
		}
	}
	_, ok := r.get("4", noon.Add(time.Minute))
	assert.True(t, ok)
	_, ok = r.get("4", noon.Add(time.Minute+1))
	assert.False(t, ok)
	assert.Len(t, r.entries, 3)
}

func TestConfigDefaults(t *testing.T) {
	t.Parallel()
	c := Config{TaskQueue: "q"}.withDefaults()
	_, err := c.validate()
	require.NoError(t, err)
	assert.Equal(t, "default", c.Namespace)
	assert.Equal(t, 100, c.Concurrency)
	assert.Equal(t, 4*time.Second, c.DrainTimeout)
	assert.NotEmpty(t, c.Identity)
	assert.NotNil(t, c.Logger)
}

func TestConfigErrorsNameTheField(t *testing.T) {
	t.Parallel()
	for field, c := range map[string]Config{
		"taskQueue":    {},
		"namespace":    {TaskQueue: "q", Namespace: "No"},
		"prefix":       {TaskQueue: "q", Prefix: "a.b"},
		"concurrency":  {TaskQueue: "q", Concurrency: 10_001},
		"drainTimeout": {TaskQueue: "q", DrainTimeout: 2 * time.Hour},

		"concurrencyByType[b]": {TaskQueue: "q", ConcurrencyByType: map[string]int{"a": 1, "b": 0, "c": -1}},
		"middleware[1]":        {TaskQueue: "q", Middleware: []Middleware{func(next Handler) Handler { return next }, nil}},
	} {
		_, err := c.withDefaults().validate()
		var typed *schedule.Error
		require.ErrorAs(t, err, &typed, field)
		assert.Equal(t, field, typed.Field)
	}
	for prefix, ok := range map[string]bool{
		"": true, "js.carillon.API": true, "$JS.API.": true, "one": true, ".": false, "a..b": false, "a.*": false, ">": false, "a b": false,
	} {
		err := Config{JetStreamAPIPrefix: prefix}.validateAPIPrefix()
		require.Equal(t, ok, err == nil, "%q: %v", prefix, err)
	}
	for _, queue := range []string{strings.Repeat("x", 256), "a\nb"} {
		_, err := Config{TaskQueue: queue}.withDefaults().validate()
		assert.ErrorContains(t, err, "taskQueue")
	}
}

func TestPhasesEndInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		p := newPhases(ctx, 4*time.Second)
		defer p.end()
		stop()
		synctest.Wait()
		assert.Error(t, p.pull.Err())
		time.Sleep(4*time.Second - time.Nanosecond)
		synctest.Wait()
		assert.NoError(t, p.work.Err())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		assert.ErrorIs(t, context.Cause(p.work), ErrShutdown)
		assert.NoError(t, p.final.Err())
		time.Sleep(handBackTime)
		synctest.Wait()
		assert.Error(t, p.final.Err())
	})
}

func TestTerminateOverrulesCancel(t *testing.T) {
	t.Parallel()
	h := newHeld(t.Context(), nil, schedule.ActionRequest{}, 1)
	require.NoError(t, h.controlCause())
	h.control(ErrCanceled)
	require.ErrorIs(t, h.controlCause(), ErrCanceled)
	h.control(ErrTerminated)
	require.ErrorIs(t, h.controlCause(), ErrTerminated)
}

// extendedMsg counts how often its acknowledgement wait has been extended.
type extendedMsg struct {
	jetstream.Msg
	extended int
}

func (m *extendedMsg) InProgress() error {
	m.extended++
	return nil
}

// TestALeaseIsExtendedWhileItLasts: never after its end, which the server would take for a wish to postpone the redelivery; and
// it is the latest delivery that is spoken of.
func TestALeaseIsExtendedWhileItLasts(t *testing.T) {
	t.Parallel()
	first, second := &extendedMsg{}, &extendedMsg{}
	l := lease{msg: first}
	l.extend()
	l.heartbeat(noon)
	l.heartbeat(noon.Add(minHeartbeat - 1))
	require.Equal(t, 2, first.extended, "heartbeats in a row extend it once")
	l.adopt(second)
	l.heartbeat(noon.Add(minHeartbeat))
	require.Equal(t, []int{2, 1}, []int{first.extended, second.extended})
	require.Same(t, second, l.end())
	l.extend()
	l.heartbeat(noon.Add(time.Hour))
	require.Equal(t, []int{2, 1}, []int{first.extended, second.extended})
}

func TestHandlerThatExitsItsGoroutine(t *testing.T) {
	t.Parallel()
	out := <-invoke(t.Context(), func(context.Context, *Run) (any, error) {
		runtime.Goexit()
		return nil, nil
	}, &Run{}, MaxResultBytes)
	assert.Equal(t, errExited.Error(), out.failure.Message)
	assert.False(t, out.final)
}

func TestHeartbeatOutsideARun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	require.NoError(t, Heartbeat(ctx, 1))
	gone := errors.New("gone")
	cancel(gone)
	assert.ErrorIs(t, Heartbeat(ctx, 2), gone)
	_, ok := FromContext(ctx)
	assert.False(t, ok)
}

// TestALaterDeliveryIsTheOneToAnswer: NATS may pass over what is said about an earlier one, so that a run that is given back comes again
// only when the acknowledgement wait is over.
func TestALaterDeliveryIsTheOneToAnswer(t *testing.T) {
	t.Parallel()
	type delivery struct {
		jetstream.Msg
		number int
	}
	held, request := newTable(), validRequest()
	first := newHeld(t.Context(), &delivery{number: 1}, request, 1)
	require.True(t, held.admit(first))
	require.False(t, held.admit(newHeld(t.Context(), &delivery{number: 2}, request, 2)), "the worker has it already")
	require.Equal(t, &delivery{number: 2}, first.end())
	held.remove(first)
	require.True(t, held.admit(newHeld(t.Context(), &delivery{number: 3}, request, 3)))
}
