package consistency_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/consistency"
	"github.com/carillon-scheduler/carillon/internal/presence"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/internal/zonedata"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// sweep is the record of a sweep, as another process reads it.
type sweep struct {
	Rules  string `json:"rules"`
	By     string `json:"by"`
	Shard  int    `json:"shard"`
	Passes int    `json:"passes"`
	Done   bool   `json:"done"`
}

func (s *installation) sweeper() *consistency.ZoneSweeper {
	s.Helper()
	z, err := consistency.NewZoneSweeper(consistency.ZoneSweeperConfig{Config: s.config(), Pause: 50 * time.Millisecond})
	require.NoError(s, err)
	return z
}

func (s *installation) sweep() (record kv.Record[sweep]) {
	s.Helper()
	record, err := kv.OrZero(kv.GetJSON[sweep](s.Context(), kv.NewCluster(s.js, s.names), subjects.KeyZoneSweep))
	require.NoError(s, err)
	return record
}

// zoned makes a daily schedule of a zone and waits until the generator knows it.
func (s *installation) zoned(id, zone string) schedule.Key {
	s.Helper()
	key := s.create(id, time.Hour, func(r *schedule.CreateRequest) {
		r.Spec = schedule.Spec{Cron: []string{"0 9 * * *"}, TimeZone: zone}
	})
	s.eventually("the generator knows "+id, func() bool { return !s.generator(key).Value.Next.IsZero() })
	return key
}

func (s *installation) generator(key schedule.Key) kv.Record[wire.GeneratorState] {
	s.Helper()
	record, err := kv.OrZero(kv.GetLeader(s.Context(), s.store, kv.Generator(key)))
	require.NoError(s, err)
	return record
}

// outdate writes other rules into the generator's record.
func (s *installation) outdate(keys ...schedule.Key) {
	s.Helper()
	for _, key := range keys {
		put(s, kv.Generator(key), func(g *wire.GeneratorState) { g.ZoneRules, g.ZoneData = "older", "2025a" })
	}
}

func (s *installation) follows(key schedule.Key) bool {
	g := s.generator(key).Value
	return g.ZoneRules != "older" && g.ZoneData == zonedata.Current().Version()
}

// TestZoneSweep: of several sweepers, one moves all schedules to the rules, and leaves alone what follows them already.
func TestZoneSweep(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	var outdated []schedule.Key
	for i := range 20 { // more than one read returns
		outdated = append(outdated, s.zoned(fmt.Sprintf("berlin%d", i), "Europe/Berlin"))
	}
	same, utc := s.zoned("tokyo", "Asia/Tokyo"), s.zoned("utc", "UTC")
	s.outdate(outdated...)
	before := []uint64{s.generator(same).Revision, s.generator(utc).Revision}
	s.background(s.sweeper().Run, s.sweeper().Run, s.sweeper().Run)
	s.eventually("the sweep is done", func() bool { return s.sweep().Value.Done })
	for _, key := range outdated {
		assert.True(t, s.follows(key), key.ID)
	}
	assert.Equal(t, before, []uint64{s.generator(same).Revision, s.generator(utc).Revision})
	assert.Equal(t, zonedata.Current().Digest(), s.sweep().Value.Rules)
	assert.Empty(t, s.finds(false))
}

// TestZoneSweepIsTakenOver: another process continues the sweep of a process that is gone.
func TestZoneSweepIsTakenOver(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	key := s.zoned("berlin", "Europe/Berlin")
	s.outdate(key)
	left := sweep{Rules: zonedata.Current().Digest(), By: "gone", Shard: s.shard(key)}
	_, err := kv.PutJSON(t.Context(), kv.NewCluster(s.js, s.names), subjects.KeyZoneSweep, &left, 0)
	require.NoError(t, err)
	s.background(s.sweeper().Run)
	s.eventually("the sweep is done", func() bool { return s.sweep().Value.Done })
	assert.True(t, s.follows(key))
	assert.NotEqual(t, "gone", s.sweep().Value.By)
}

// TestZoneSweepWaitsForTheLastGenerator: the sweep finds what a generator with other rules writes meanwhile.
func TestZoneSweepWaitsForTheLastGenerator(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	key := s.zoned("berlin", "Europe/Berlin")
	ctx, leave := context.WithCancel(context.Background())
	var other errgroup.Group
	defer func() { assert.NoError(t, other.Wait()) }()
	defer leave()
	other.Go(func() error {
		return presence.Announce(ctx, s.conn, s.names, func() presence.Process {
			return presence.Process{Host: "h", Roles: []string{"generator"}, ZonesDigest: "older"}
		})
	})
	s.eventually("the other generator answers", func() bool {
		brief, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		all, err := presence.All(brief, s.conn, s.names)
		require.NoError(t, err)
		return len(all) == 1
	})
	s.background(s.sweeper().Run)
	s.eventually("there was a pass", func() bool { return s.sweep().Value.Passes == 1 })
	waiting := s.sweep()
	s.eventually("it goes on", func() bool { return s.sweep().Revision > waiting.Revision })
	assert.Equal(t, sweep{Rules: waiting.Value.Rules, By: waiting.Value.By, Passes: 1}, s.sweep().Value, "it makes no pass in vain")
	s.outdate(key)
	leave()
	s.eventually("the sweep is done", func() bool { return s.sweep().Value.Done })
	assert.True(t, s.follows(key))
}
