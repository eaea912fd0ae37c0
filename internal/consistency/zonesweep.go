package consistency

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/carillon-scheduler/carillon/internal/presence"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/internal/zonedata"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// The defaults of [ZoneSweeperConfig].
const (
	defaultZoneRate  = 1000
	defaultZonePause = 30 * time.Second
)

const (
	// silentRounds is for how many pauses the process that sweeps may be silent.
	silentRounds = 3
	// presenceWait is how long processes may take to answer which rules they use.
	presenceWait = time.Second
	// zoneWake is how many schedules are looked at in the time of one that is also woken.
	zoneWake = 5
)

// ZoneSweeperConfig is what a [ZoneSweeper] needs in addition to the [Config] of a [Checker].
type ZoneSweeperConfig struct {
	Config
	// Rate is the most schedules to look at in a second. One that is woken counts as [zoneWake]. Default: [defaultZoneRate].
	Rate float64
	// Pause is the time between two passes, and after an error. If the process that sweeps is silent for three pauses, another
	// takes over. Default: [defaultZonePause].
	Pause time.Duration
	// Rules is the digest of the time zone data of this process, Data its version. Default: those of zonedata.Current.
	Rules, Data string
}

// ZoneSweeper moves the schedules to the time zone rules of this process, if the last sweep used others: it wakes the generator
// for each schedule whose times were computed with other rules of its zone. It reads only definitions and the records of the
// generator, so it is many times as fast as a [Scrubber]. Of all processes that start with the same data one sweeps. If it stops,
// another continues. The sweep ends when no schedule is left, and no process of the generator has other rules.
type ZoneSweeper struct {
	config  ZoneSweeperConfig
	self    string
	checker *Checker
	cluster *kv.Cluster
	// heard is the revision of the record that was read last, rounds how many times in a row it was the same.
	heard  uint64
	rounds int
	// said is when this process last wrote the record.
	said time.Time
}

// NewZoneSweeper returns a sweeper that does nothing until Run is called. Errors are about the configuration.
func NewZoneSweeper(config ZoneSweeperConfig) (*ZoneSweeper, error) {
	var err error
	if config.Config, err = config.withDefaults(); err != nil {
		return nil, err
	}
	if config.JS == nil {
		return nil, errors.New("consistency: a sweep needs Config.JS")
	}
	if config.Pause <= 0 {
		config.Pause = defaultZonePause
	}
	if config.Rate <= 0 {
		config.Rate = defaultZoneRate
	}
	config.Logger = config.Logger.With("component", "zone sweep")
	return &ZoneSweeper{config: config, self: uuid.NewString(), cluster: kv.NewCluster(config.JS, config.Names)}, nil
}

// Run sweeps if it is this process's turn, and then waits until ctx ends; then it returns nil. It logs errors and tries again. It
// may be called once.
func (s *ZoneSweeper) Run(ctx context.Context) error {
	if s.config.Rules == "" {
		data := zonedata.Current()
		s.config.Rules, s.config.Data = data.Digest(), data.Version()
	}
	for isNew := true; ctx.Err() == nil; {
		over, err := s.round(ctx, &isNew)
		if over {
			break
		}
		if err != nil && ctx.Err() == nil {
			s.config.Logger.WarnContext(ctx, "schedules not brought to the time zone data", "error", err)
		}
		_ = sleep.For(ctx, s.config.Pause) // the loop ends with ctx
	}
	if s.checker != nil {
		s.checker.Close()
	}
	<-ctx.Done()
	return nil
}

// round finds out whose turn it is, and does one pass if it is this process's turn. It returns true when nothing is left to do.
func (s *ZoneSweeper) round(ctx context.Context, isNew *bool) (over bool, err error) {
	record, err := kv.GetJSON[zoneSweep](ctx, s.cluster, subjects.KeyZoneSweep)
	if err != nil && !errors.Is(err, kv.ErrNotFound) && !errors.Is(err, kv.ErrCorrupt) {
		return false, err
	}
	switch record.Value.turnOf(s.self, s.config.Rules, *isNew, s.silent(record.Revision)) {
	case turnOver:
		return true, nil
	case turnWait:
		*isNew = false
		return false, nil
	case turnClaim:
		record.Value = record.Value.claimed(s.self, s.config.Rules, s.config.Data)
		if err := s.put(ctx, &record); err != nil {
			return false, quietly(err)
		}
		*isNew = false
	case turnWork:
	}
	err = s.pass(ctx, &record)
	return err == nil && record.Value.Done, quietly(err)
}

// quietly ignores an error that says that another process was faster. The next round finds out what that means.
func quietly(err error) error {
	if errors.Is(err, kv.ErrConflict) {
		return nil
	}
	return err
}

// silent reports whether the record has not been written for some rounds.
func (s *ZoneSweeper) silent(revision uint64) bool {
	if revision != s.heard {
		s.heard, s.rounds = revision, 0
	}
	s.rounds++
	return s.rounds > silentRounds
}

func (s *ZoneSweeper) put(ctx context.Context, record *kv.Record[zoneSweep]) error {
	revision, err := kv.PutJSON(ctx, s.cluster, subjects.KeyZoneSweep, &record.Value, record.Revision)
	if err == nil {
		record.Revision, s.said = revision, s.config.Now()
	}
	return err
}

// pass looks at all schedules once, from where the record says on. After the first pass it waits until no generator with other
// rules is left, because such a generator would write its own times again.
func (s *ZoneSweeper) pass(ctx context.Context, record *kv.Record[zoneSweep]) (err error) {
	at := &record.Value
	if at.Passes > 0 && at.Shard == 0 && at.Sequence == 0 {
		if mixed, err := s.mixed(ctx); err != nil || mixed {
			return errors.Join(err, s.put(ctx, record)) // which shows that this process continues
		}
	}
	if s.checker == nil {
		if s.checker, err = New(ctx, s.config.Config); err != nil {
			return err
		}
	}
	for ; at.Shard < s.config.Shards; at.Shard, at.Sequence = at.Shard+1, 0 {
		if err := s.walk(ctx, record); err != nil {
			return err
		}
	}
	mixed, err := s.mixed(ctx)
	if err != nil {
		return err
	}
	s.config.Logger.InfoContext(ctx, "schedules brought to the time zone data", "data", at.Data, "pass", at.Passes+1,
		"woken", at.Found, "other_generators", mixed)
	*at = at.passed(mixed)
	return s.put(ctx, record)
}

// walk looks at the schedules of a shard, and records from time to time how far it has come.
func (s *ZoneSweeper) walk(ctx context.Context, record *kv.Record[zoneSweep]) error {
	at, r := &record.Value, &s.checker.reader
	records := r.trails(at.Shard)[0]
	records.last = at.Sequence
	for {
		met, err := records.next(ctx)
		if err != nil || len(met) == 0 {
			return err
		}
		found, looks, err := s.visit(ctx, at.Shard, met)
		if err != nil {
			return err
		}
		at.Found, at.Sequence = at.Found+found, records.last
		if s.config.Now().Sub(s.said) >= s.config.Pause {
			if err := s.put(ctx, record); err != nil {
				return err
			}
		}
		if err := sleep.For(ctx, time.Duration(looks*float64(time.Second)/s.config.Rate)); err != nil {
			return err
		}
	}
}

// visit wakes the generator for those schedules among some messages whose times were computed with other rules. looks is the
// cost.
func (s *ZoneSweeper) visit(ctx context.Context, shard int, met []string) (found int, looks float64, err error) {
	r := &s.checker.reader
	var keys []schedule.Key
	for _, subject := range met {
		if key, definition, _ := r.owner(shard, subject); definition {
			keys = append(keys, key)
		}
	}
	wakes, err := r.otherZones(ctx, shard, keys)
	for key, wake := range wakes {
		err = errors.Join(err, wakeGenerator{wake: wake}.carryOut(ctx, &s.checker.mender, key))
	}
	looks = float64(len(keys)+zoneWake*len(wakes)) + float64(len(met)-len(keys))/passedOver
	return len(wakes), looks, err
}

// mixed reports whether a process of the generator uses other rules, as far as processes answer.
func (s *ZoneSweeper) mixed(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, presenceWait)
	defer cancel()
	all, err := presence.All(ctx, s.config.JS.Conn(), s.config.Names)
	return slices.ContainsFunc(all, func(p presence.Process) bool {
		return p.ZonesDigest != s.config.Rules && slices.Contains(p.Roles, subjects.PoolGenerator)
	}), err
}

// otherZones returns the wakes for those of some schedules of a shard whose times the generator has computed with other rules of
// their zone than those of this process. It leaves out schedules that the generator will look at for another reason.
func (r *reader) otherZones(ctx context.Context, shard int, keys []schedule.Key) (map[schedule.Key]wire.Wake, error) {
	get, err := r.ahead(ctx, shard, keys)
	if err != nil {
		return nil, err
	}
	wakes := map[schedule.Key]wire.Wake{}
	for _, key := range keys {
		in := inspector{Snapshot: Snapshot{Key: key, Bucket: r.names.StateBucket(shard)}}
		err := errors.Join(
			read(ctx, get, in.Bucket, kv.Definition(key).String(), &in.Definition),
			read(ctx, get, in.Bucket, kv.Generator(key).String(), &in.Generator),
		)
		if err != nil {
			return nil, err
		}
		if in.Definition.legible() && in.generatorKnown() && in.Generator.Value.Version >= in.Definition.Value.Version && in.hasOtherZone() {
			wakes[key] = in.wake()
		}
	}
	return wakes, nil
}

// ahead reads the definitions of some schedules of a shard, and the generator's records, all at once. What does not fit into one
// answer is read on demand.
func (r *reader) ahead(ctx context.Context, shard int, keys []schedule.Key) (get, error) {
	if len(keys) == 0 {
		return r.buckets.Get, nil
	}
	names := make([]string, 0, 2*len(keys))
	for _, key := range keys {
		names = append(names, kv.Definition(key).String(), kv.Generator(key).String())
	}
	found, err := r.buckets.GetMatching(ctx, r.names.StateBucket(shard), names)
	if err != nil {
		return nil, fmt.Errorf("consistency: %w", err)
	}
	if found.Rest {
		return r.buckets.Get, nil
	}
	entries := make(map[string]kv.Entry, len(found.Entries))
	for _, entry := range found.Entries {
		entries[entry.Key] = entry.Entry
	}
	return of(entries), nil
}
