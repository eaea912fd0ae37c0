package generator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// createdWake is the wake that a frontend sends when it has created a schedule.
func createdWake(d wire.Definition) wire.Wake {
	return wire.Wake{
		Incarnation: d.Incarnation, Version: d.Version, Reason: wire.ReasonCreated, Told: true, Created: &d,
	}
}

// delivered hands a wake to a pool as it comes from the stream.
func (b *testBundle) delivered(p *Pool, id string, wake wire.Wake, stored time.Time) loop.Verdict {
	b.Helper()
	return p.Handle(b.Context(), keyOf(id), []loop.Message[wire.Wake]{{Body: wake, Stored: stored, Deliveries: 1}})
}

// TestBeginsWithoutALook: all that is needed comes with the wake.
func TestBeginsWithoutALook(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.define("s", seconds(3600)).Value
	// Only its leader would tell of the definition: to go by it, the pool does not read it.
	p := b.behind(kv.Definition(keyOf("s")).String())
	require.Equal(t, loop.Done(), b.delivered(p, "s", createdWake(d), time.Now()))
	state, found := b.state("s")
	require.True(t, found)
	require.Equal(t, d.Incarnation, state.Incarnation)
	require.EqualValues(t, 1, state.Version)
	require.NotEmpty(t, state.Future)
	require.True(t, b.armed("s"))
}

// TestBeginsNothingTwice: the wake of the creation comes after a change has been dealt with.
func TestBeginsNothingTwice(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.define("s", seconds(100*3600))
	second := first.Value
	second.Version, second.Schedule.Spec = 2, seconds(3600)
	b.put(second, first.Revision)
	p := b.pool()
	b.handle(p, "s", wire.Wake{Incarnation: "of-s", Version: 2, Reason: wire.ReasonUpdated})
	before, _ := b.state("s")
	require.Equal(t, loop.Done(), b.delivered(p, "s", createdWake(first.Value), time.Now()))
	after, _ := b.state("s")
	require.Equal(t, before.Next, after.Next)
	require.EqualValues(t, 2, after.Version)
}

// TestBeginsNothingThatIsGone: the schedule has been deleted, and another process has dealt with that, before or while this
// one makes its first record.
func TestBeginsNothingThatIsGone(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]bool{"before": false, "meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			d := b.define("s", seconds(3600))
			remove := func() {
				require.NoError(t, kv.Delete(t.Context(), b.store, kv.Definition(keyOf("s")), d.Revision))
				for range 2 { // a repeat changes nothing
					b.handle(b.pool(), "s", wire.Wake{Incarnation: "of-s", Version: 2, Reason: wire.ReasonDeleted})
				}
			}
			p := b.pool()
			if meanwhile {
				p, _ = b.interrupted("s", remove)
			} else {
				remove()
			}
			require.Equal(t, loop.Done(), b.delivered(p, "s", createdWake(d.Value), time.Now()))
			_, found := b.state("s")
			require.False(t, found)
			require.False(t, b.armed("s"))
		})
	}
}

// TestBeginsAgainWhereSomethingWas: the trace of a record, of an earlier schedule of the same ID, is in the way.
func TestBeginsAgainWhereSomethingWas(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.define("s", seconds(3600))
	p := b.pool()
	require.Equal(t, loop.Done(), b.delivered(p, "s", createdWake(d.Value), time.Now()))
	require.NoError(t, kv.Delete(t.Context(), b.store, kv.Definition(keyOf("s")), d.Revision))
	b.handle(p, "s", wire.Wake{Incarnation: "of-s", Version: 2, Reason: wire.ReasonDeleted})
	next := d.Value
	next.Incarnation = "again"
	b.put(next, 0)
	require.Equal(t, loop.Done(), b.delivered(p, "s", createdWake(next), time.Now()))
	state, _ := b.state("s")
	require.Equal(t, "again", state.Incarnation)
	require.True(t, b.armed("s"))
}

// TestBeginsNothingByAnOldWake: of a schedule that was deleted long ago there is no trace any more.
func TestBeginsNothingByAnOldWake(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.define("s", seconds(3600))
	require.NoError(t, kv.Delete(t.Context(), b.store, kv.Definition(keyOf("s")), d.Revision))
	require.Equal(t, loop.Done(), b.delivered(b.pool(), "s", createdWake(d.Value), time.Now().Add(-time.Hour)))
	_, found := b.state("s")
	require.False(t, found)
	require.False(t, b.armed("s"))
}

// TestBeginsWithWhatIsDue: something is handed over, which takes the word of the leader.
func TestBeginsWithWhatIsDue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := wire.Definition{
		Namespace: "default", ID: "s", Incarnation: "of-s", Version: 1, CreateTime: time.Now().Add(-90 * time.Minute).UTC(),
		Schedule: schedule.Schedule{Spec: seconds(3600)},
	}
	b.put(d, 0)
	require.Equal(t, loop.Done(), b.delivered(b.pool(), "s", createdWake(d), time.Now()))
	require.Len(t, b.handOffs("s"), 1)
	state, _ := b.state("s")
	require.NotEqual(t, state.HandedOff, d.CreateTime)
}
