package consistency

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/journal"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// The defaults of [Config].
const (
	// DefaultPause is long enough for another process to take over what a dead process held.
	DefaultPause       = 2 * subjects.TaskAckWait
	DefaultConcurrency = 32
)

// Config is what a [Checker] needs. JS and Shards are required; the zero value of every other field is its default.
type Config struct {
	JS jetstream.JetStream
	// Installation is the installation to check. Default: the one on NATS that JS leads to. If it is set, JS, Lanes and Identity are not
	// used, and Names and Shards must be its own.
	Installation *Installation
	// Names are the names of the installation. Default: subjects.Default().
	Names subjects.Names
	// Shards is how many shards the installation has.
	Shards int
	// Lanes are used to read the schedules. Default: JS.
	Lanes *bus.Lanes
	// Pause is the wait between a look and the look that confirms it. Default: [DefaultPause].
	Pause time.Duration
	// Rebuilt says that the streams of tasks and delayed messages were made anew, and that no pool has run since: nothing is on its way that they do not have.
	Rebuilt bool
	// Mends says which findings may be mended. The others are reported as such that cannot be. Default: all.
	Mends func(*Finding) bool
	// Concurrency is how many schedules or workflows are looked at, and mended, in parallel. Default: [DefaultConcurrency].
	Concurrency int
	// Identity names the caller in the events of replayed messages.
	Identity string
	// Logger gets what a [Scrubber] finds and does. Default: slog.Default().
	Logger *slog.Logger
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

func (c Config) withDefaults() (Config, error) {
	if c.JS == nil && c.Installation == nil || c.Shards < 1 {
		return c, errNoInstallation
	}
	if c.Names == (subjects.Names{}) {
		c.Names = subjects.Default()
	}
	if c.Pause <= 0 {
		c.Pause = DefaultPause
	}
	if c.Mends == nil {
		c.Mends = func(*Finding) bool { return true }
	}
	if c.Concurrency <= 0 {
		c.Concurrency = DefaultConcurrency
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now //permit:time.Now the default
	}
	return c, nil
}

// Report is the outcome of a check.
type Report struct {
	// Schedules is how many schedules were looked at, including schedules of which only remains exist.
	Schedules int `json:"schedules"`
	// Workflows is how many workflow IDs were looked at.
	Workflows int `json:"workflows"`
	// Findings are those about schedules, and then those about workflows; never nil.
	Findings []Finding `json:"findings"`
}

// Open counts the findings that have not been repaired.
func (r *Report) Open() int {
	open := 0
	for i := range r.Findings {
		if !r.Findings[i].Repaired {
			open++
		}
	}
	return open
}

// Checker compares what is stored about schedules and workflows. Make it with New and close it at the end; it is safe for concurrent use.
type Checker struct {
	config Config
	reader reader
	mender mender
}

// New returns a checker of an installation that has been set up.
func New(ctx context.Context, config Config) (*Checker, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	in := config.Installation
	if in == nil {
		if in, err = onNATS(ctx, &config); err != nil {
			return nil, err
		}
	}
	store := kv.NewStore(in.Buckets, config.Names, config.Shards)
	c := &Checker{
		config: config,
		reader: reader{
			bus: in.Bus, buckets: in.Buckets, streams: in.Streams, store: store, names: config.Names, letters: in.Letters,
			executions: in.Executions, executing: in.Journals, rebuilt: config.Rebuilt, now: config.Now,
		},
		mender: mender{
			bus: in.Bus, buckets: in.Buckets, store: store, names: config.Names, letters: in.Letters, now: config.Now,
		},
	}
	if in.Journals != nil {
		c.reader.journals = journal.New(in.Journals, config.Names)
		c.mender.journals = c.reader.journals
	}
	if config.Installation == nil {
		c.reader.spaces = namespaces.NewRecords(kv.NewCluster(config.JS, config.Names))
	}
	return c, nil
}

// Close ends the background work. The connection stays open.
func (c *Checker) Close() { c.reader.bus.Close() }

// Check looks at all schedules and workflows of a namespace, or of all namespaces if it is empty, and confirms its findings after a pause. With repair,
// it mends them and looks a third time. It mends what remains again, up to mendRounds times in all: a concurrent user of the same subject
// may have prevented the repair.
func (c *Checker) Check(ctx context.Context, namespace string, repair bool) (Report, error) {
	report := Report{Findings: []Finding{}}
	var suspects []Finding
	for shard := range c.config.Shards {
		count, found, err := c.lookAtShard(ctx, shard, namespace)
		if err != nil {
			return report, err
		}
		report.Schedules += count
		suspects = append(suspects, found...)
	}
	strays, err := c.lookAtQueues(ctx, namespace)
	if err != nil {
		return report, err
	}
	workflows, others, err := c.lookAtExecutions(ctx, namespace)
	if err != nil {
		return report, err
	}
	report.Workflows = workflows
	found, err := c.lookAgain(ctx, slices.Concat(suspects, strays, others))
	if err != nil {
		return report, err
	}
	report.Findings = append(report.Findings, found...)
	for i := range report.Findings {
		if f := &report.Findings[i]; !c.config.Mends(f) {
			f.mend, f.Repairable = nil, false
		}
	}
	if !repair || !slices.ContainsFunc(report.Findings, func(f Finding) bool { return f.Repairable }) {
		return report, nil
	}
	for range mendRounds {
		c.mendAll(ctx, report.Findings)
		err = c.review(ctx, report.Findings)
		if err != nil || !slices.ContainsFunc(report.Findings, func(f Finding) bool { return f.Problem == stillSo }) {
			break
		}
	}
	return report, err
}

const (
	mendRounds = 3
	stillSo    = "it is still so after the repair"
)

// review finds out which findings are gone. What has changed meanwhile may be on its way, or may be the wrong result of a repair, so review
// looks at it again.
func (c *Checker) review(ctx context.Context, findings []Finding) error {
	found, err := c.seeAgain(ctx, findings)
	if err != nil {
		return err
	}
	others, err := c.lookAgain(ctx, moved(findings, found))
	if err != nil {
		return err
	}
	review(findings, append(confirmed(findings, found), others...))
	return nil
}

// review notes which findings are gone and which remain, perhaps in another state. The next repair is based on that state.
func review(findings, remaining []Finding) {
	left := make(map[fault]*Finding, len(remaining))
	for i := range slices.Backward(remaining) { // the first one counts
		left[remaining[i].fault()] = &remaining[i]
	}
	for i := range findings {
		f := &findings[i]
		now := left[f.fault()]
		if f.Repaired = now == nil; !f.Repaired {
			f.What, f.evidence, f.mend, f.stray, f.task = now.What, now.evidence, now.mend, now.stray, now.task
		}
		switch {
		case !f.Repaired && f.Repairable && f.Problem == "":
			f.Problem = stillSo
		case f.Repaired && f.Problem == stillSo:
			f.Problem = ""
		}
	}
}

// mendAll repairs findings, in parallel for different schedules and workflows. It begins with findings whose record is written or removed, because a generator that another
// repair wakes may write the same record.
func (c *Checker) mendAll(ctx context.Context, findings []Finding) {
	for _, records := range []bool{true, false} {
		of := map[schedule.Key][]*Finding{}
		for i := range findings {
			if f := &findings[i]; f.mend != nil && changesRecord(f.mend) == records {
				of[f.Key()] = append(of[f.Key()], f)
			}
		}
		var group errgroup.Group
		group.SetLimit(c.config.Concurrency)
		for _, of := range of {
			group.Go(func() error {
				for _, f := range of {
					c.mend(ctx, f)
				}
				return nil
			})
		}
		_ = group.Wait() // none fails: a finding has its own problem
	}
}

func changesRecord(m mend) bool {
	switch m.(type) {
	case putGenerator, removeRecord:
		return true
	}
	return false
}

// mend repairs a finding, if that is possible.
func (c *Checker) mend(ctx context.Context, f *Finding) {
	if f.mend == nil || f.Repaired {
		return
	}
	if err := f.mend.carryOut(ctx, &c.mender, f.Key()); err != nil {
		f.Problem = err.Error()
	}
}

// lookAtShard looks at the schedules of a shard for the first time, on any replica.
func (c *Checker) lookAtShard(ctx context.Context, shard int, namespace string) (int, []Finding, error) {
	v, err := c.reader.surveyShard(ctx, shard, namespace)
	if err != nil {
		return 0, nil, err
	}
	keys := make([]schedule.Key, 0, len(v.found))
	for key := range v.found {
		keys = append(keys, key)
	}
	found, err := c.each(ctx, keys, func(ctx context.Context, key schedule.Key) ([]Finding, error) {
		s, err := c.reader.snapshot(ctx, c.reader.buckets.Get, v, key)
		if err != nil {
			return nil, err
		}
		return inspect(s), nil
	})
	return len(keys), found, err
}

// look looks at one schedule, on the leader.
func (c *Checker) look(ctx context.Context, key schedule.Key) ([]Finding, error) {
	v, err := c.reader.surveySchedule(ctx, key)
	if err != nil {
		return nil, err
	}
	s, err := c.reader.snapshot(ctx, c.reader.buckets.GetLeader, v, key)
	if err != nil {
		return nil, err
	}
	return inspect(s), nil
}

// lookAgain waits a pause and returns the findings that still exist.
func (c *Checker) lookAgain(ctx context.Context, suspects []Finding) ([]Finding, error) {
	found, err := c.seeAgain(ctx, suspects)
	return confirmed(suspects, found), err
}

// seeAgain waits a pause and returns everything that is now wrong with the schedules of the suspects.
func (c *Checker) seeAgain(ctx context.Context, suspects []Finding) ([]Finding, error) {
	if len(suspects) == 0 {
		return nil, nil
	}
	var keys []schedule.Key
	var strays, workflows []*Finding
	for i := range suspects {
		switch f := &suspects[i]; {
		case f.stray != nil:
			strays = append(strays, f)
		case f.WorkflowID != "":
			workflows = append(workflows, f)
		default:
			keys = append(keys, f.Key())
		}
	}
	slices.SortFunc(keys, compareKeys)
	if err := sleep.For(ctx, c.config.Pause); err != nil {
		return nil, err
	}
	found, err := c.each(ctx, slices.Compact(keys), c.look)
	for _, f := range strays {
		if err != nil {
			break
		}
		var again []Finding
		again, err = c.lookAtRun(ctx, f)
		found = append(found, again...)
	}
	if err != nil {
		return found, err
	}
	again, err := c.lookAtExecutionsAgain(ctx, workflows)
	return append(found, again...), err
}

// each looks at schedules in parallel, and returns the findings in the order of the schedules.
func (c *Checker) each(
	ctx context.Context, keys []schedule.Key, look func(context.Context, schedule.Key) ([]Finding, error),
) ([]Finding, error) {
	var mu sync.Mutex
	var all []Finding
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(c.config.Concurrency)
	for _, key := range keys {
		group.Go(func() error {
			found, err := look(ctx, key)
			if err != nil {
				return fmt.Errorf("look at %s: %w", key, err)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, found...)
			return nil
		})
	}
	err := group.Wait()
	slices.SortStableFunc(all, func(a, b Finding) int { return compareKeys(a.Key(), b.Key()) })
	return all, err
}

func compareKeys(a, b schedule.Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.ID, b.ID))
}
