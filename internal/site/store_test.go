package site_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestFollowASuspendedProcess: a process that was suspended for long does not go on as if nothing had happened, although NATS answers it at once.
func TestFollowASuspendedProcess(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Shared(t))
	store := site.NewStore(js, natstest.Names(t))
	east := site.Linked("east", "west", time.Now())
	require.NoError(t, store.Save(t.Context(), east, 0, 1))
	var asleep time.Duration
	clock := func() time.Time { return time.Now().Add(asleep) }
	saw := 0
	err := store.Follow(t.Context(), east, clock, func(now *site.Record) {
		saw++
		assert.Equal(t, east.Site, now.Site)
		asleep = time.Minute
	})
	require.ErrorIs(t, err, site.ErrAway)
	require.Equal(t, 1, saw)
}

// TestAwaitADamagedRecord: a record that cannot be read for good is not waited for.
func TestAwaitADamagedRecord(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Shared(t))
	store := site.NewStore(js, natstest.Names(t))
	require.NoError(t, store.Save(t.Context(), &site.Record{}, 0, 1))
	_, _, err := store.Await(t.Context(), func(err error) { assert.Fail(t, "it is not tried again", err) })
	require.Equal(t, schedule.CodeInternal, schedule.CodeOf(err))
}

// TestDisplaced: which site stands back.
func TestDisplaced(t *testing.T) {
	t.Parallel()
	own := &site.Record{Site: "east", Peer: "west", State: site.Active, Term: 3}
	peer := func(state site.State, term uint64, change func(*site.Record)) *site.Record {
		r := &site.Record{Site: "west", Peer: "east", State: state, Term: term, Cuts: map[string]uint64{"s": 1}}
		if change != nil {
			change(r)
		}
		return r
	}
	noCuts := func(r *site.Record) { r.Cuts = nil }
	forced := func(r *site.Record) { r.Cuts, r.Forced = nil, true }
	for name, test := range map[string]struct {
		peer *site.Record
		want string
	}{
		"no record":                    {nil, ""},
		"a standby":                    {peer(site.Standby, 3, noCuts), ""},
		"an older term":                {peer(site.Active, 2, nil), ""},
		"active in a later term":       {peer(site.Active, 4, nil), "has taken over"},
		"handing back":                 {peer(site.Draining, 4, nil), "has taken over"},
		"the same term, a later name":  {peer(site.Active, 3, nil), "has taken over"},
		"linked, never taken over":     {peer(site.Active, 4, noCuts), ""},
		"begins to take over by force": {peer(site.Promoting, 4, forced), "takes over"},
		"of another installation":      {peer(site.Active, 4, func(r *site.Record) { r.Peer = "north" }), ""},
	} {
		assert.Equal(t, test.want, own.Displaced(test.peer), name)
	}
}
