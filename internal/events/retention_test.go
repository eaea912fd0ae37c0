package events_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// keeping is a namespace that keeps its events for so long.
func keeping(name string, d time.Duration) schedule.Namespace {
	return schedule.Namespace{Name: name, Limits: schedule.NamespaceLimits{EventRetention: schedule.Duration(d)}}
}

// TestEventsBearTheRetentionOfTheirNamespace where it is shorter than that of the stream.
func TestEventsBearTheRetentionOfTheirNamespace(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.Publisher = events.NewPublisher(natstest.Bus(t, h.js), h.names, namespaces.Fixed{
		"short": keeping("short", 90*time.Minute), "long": keeping("long", subjects.EventAge), "none": keeping("none", 0),
	})
	for i, test := range []struct{ namespace, ttl string }{
		{"short", "5400"}, {"long", ""}, {"none", ""}, {"unknown", ""},
	} {
		e := event("a", i, schedule.EventStarted)
		e.Namespace = test.namespace
		h.tell(e)
		msg, err := h.stream.GetMsg(t.Context(), uint64(i+1))
		require.NoError(t, err)
		require.Equal(t, test.ttl, msg.Header.Get(jetstream.MsgTTLHeader), test.namespace)
	}
}

// TestWhatIsOverIsGone: the stream lets go of an event before its own age, and readers go on behind the hole.
func TestWhatIsOverIsGone(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	brief := events.NewPublisher(natstest.Bus(t, h.js), h.names, namespaces.Fixed{"default": keeping("default", time.Second)})
	h.tell(event("a", 1, schedule.EventStarted))
	require.NoError(t, brief.Publish(t.Context(), event("a", 2, schedule.EventStarted)))
	h.tell(event("a", 3, schedule.EventStarted))
	natstest.Eventually(t, natstest.Patience, "an event is gone", func() bool {
		info, err := h.stream.Info(t.Context())
		return err == nil && info.State.Msgs == 2
	})
	require.Equal(t, []string{"a-1", "a-3"}, h.walk(of("a"), 10))
	require.Equal(t, []string{"a-1", "a-3"}, h.newest(of("a"), 10))
}
