package worker

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

func TestListening(t *testing.T) {
	t.Parallel()
	var l listening
	assert.Zero(t, l.duration(0, noon), "it has not begun")
	l.begin(2, noon)
	assert.Equal(t, time.Minute, l.duration(2, noon.Add(time.Minute)))
	assert.Zero(t, l.duration(3, noon.Add(2*time.Minute)), "the connection was lost and is there again")
	assert.Equal(t, time.Second, l.duration(3, noon.Add(2*time.Minute+time.Second)))
}

func TestRecentReaches(t *testing.T) {
	t.Parallel()
	r := newRecent[int](2, time.Hour)
	assert.True(t, r.reaches(time.Minute, noon))
	r.add("a", 1, noon)
	r.add("b", 1, noon.Add(time.Second))
	assert.False(t, r.reaches(time.Minute, noon.Add(time.Minute)), "the next one takes the place of one that is a minute old")
	assert.True(t, r.reaches(time.Minute, noon.Add(time.Minute+time.Millisecond)))
}

// TestAYoungRunIsNotLookedUp: a worker that has listened all the while knows the controls of a run that has only just come
// due.
func TestAYoungRunIsNotLookedUp(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		listened, due time.Duration // ago
		lost          bool
		want          bool
	}{
		"young":                    {listened: time.Minute, due: time.Second, want: true},
		"about to be due":          {listened: time.Minute, due: -time.Second, want: true},
		"due long ago":             {listened: time.Minute, due: youngRun + time.Second},
		"a worker that just began": {listened: heardSince, due: time.Second},
		"after an outage":          {listened: time.Minute, due: time.Second, lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nc, err := nats.Connect(natstest.Shared(t).ClientURL())
			require.NoError(t, err)
			t.Cleanup(nc.Close)
			w, err := New(nc, Config{Namespace: "default", TaskQueue: "q"})
			require.NoError(t, err)
			w.now = func() time.Time { return noon }
			reconnects := nc.Stats().Reconnects
			if test.lost {
				reconnects++
			}
			w.listening.begin(reconnects, noon.Add(-test.listened))
			request := validRequest()
			request.DueTime = noon.Add(-test.due)
			h := newHeld(t.Context(), nil, request, 1)
			defer h.cancel(nil)
			require.Equal(t, test.want, w.hasHeard(h))
			if test.want {
				w.controls.add(request.RunID, ErrTerminated, noon.Add(-time.Second))
				w.applyStored(t.Context(), h) // there is no stream it could ask
				require.Equal(t, ErrTerminated, h.controlCause())
			}
		})
	}
}
