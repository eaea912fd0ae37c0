package consistency

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/schedule"
)

// The defaults of [ScrubberConfig].
const (
	defaultPeriod = 10 * time.Minute
	defaultRate   = 4
)

const (
	// passedOver is how many messages of schedules that it need not look at the scrubber reads in the time of one look, and strangers how
	// many messages of workflows that it need not look at, which may be far more.
	passedOver = 8
	strangers  = 200
	// maxAttempts is how often the scrubber tries to read a message.
	maxAttempts = 10
)

// maxSuspects limits the suspects of a scrubber. The next pass finds the others again.
const maxSuspects = 1000

// ScrubberConfig is what a [Scrubber] needs in addition to the [Config] of a [Checker].
type ScrubberConfig struct {
	Config
	// Period is the time from the beginning of one pass to the beginning of the next, at least. The first pass begins at a random
	// time within it. Default: [defaultPeriod].
	Period time.Duration
	// Rate is how many schedules or workflows to look at in a second. Default: [defaultRate].
	Rate float64
	// Rand decides when the first pass begins, and the order of the shards. Default: one that nobody can predict.
	Rand *rand.Rand
}

// Scrubber looks at all schedules and workflows again and again, at a low rate, and mends what may be mended without a person. Any number of
// scrubbers may run at once: two of them do no harm to the same schedule, and more of them reach each schedule sooner.
type Scrubber struct {
	config  ScrubberConfig
	checker *Checker
	// suspects are what was found once and awaits a second look, the oldest first.
	suspects []suspect
}

// suspect is the findings of one schedule or workflow, and when to look again.
type suspect struct {
	key      schedule.Key
	workflow bool
	findings []Finding
	due      time.Time
}

// NewScrubber returns a scrubber that does nothing until Run is called. Errors are about the configuration.
func NewScrubber(config ScrubberConfig) (*Scrubber, error) {
	var err error
	if config.Config, err = config.withDefaults(); err != nil {
		return nil, err
	}
	if config.Period <= 0 {
		config.Period = defaultPeriod
	}
	if config.Rate <= 0 {
		config.Rate = defaultRate
	}
	if config.Rand == nil {
		config.Rand = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	config.Logger = config.Logger.With("component", "scrubber")
	return &Scrubber{config: config}, nil
}

// Run looks at schedules until ctx ends, and then returns nil. It logs errors, and the next pass tries again. It may be called
// once.
func (s *Scrubber) Run(ctx context.Context) error {
	// Nobody waits for the first pass, and processes that start together should not look at the same schedules.
	if sleep.For(ctx, time.Duration(s.config.Rand.Int64N(int64(s.config.Period)))) != nil || !s.open(ctx) {
		return nil
	}
	defer s.checker.Close()
	// The order stays the same in every pass. So each schedule has its turn one period after the last, whatever the length of a
	// pass.
	shards := s.config.Rand.Perm(s.config.Shards)
	for {
		next := s.now().Add(s.config.Period)
		for _, shard := range shards {
			if err := s.pass(ctx, shard); err != nil && ctx.Err() == nil {
				s.config.Logger.WarnContext(ctx, "schedules not looked at", "shard", shard, "error", err)
			}
		}
		if s.settle(ctx, next) != nil {
			return nil
		}
	}
}

// open makes the checker. It returns false if ctx ends before.
func (s *Scrubber) open(ctx context.Context) bool {
	for {
		var err error
		if s.checker, err = New(ctx, s.config.Config); err == nil {
			return true
		}
		if ctx.Err() == nil {
			s.config.Logger.WarnContext(ctx, "schedules not looked at", "error", err)
		}
		if sleep.For(ctx, s.config.Period) != nil {
			return false
		}
	}
}

func (s *Scrubber) now() time.Time { return s.config.Now() }

// pass looks once at each schedule of a shard: when it meets the definition or, if there is none, the first remains of the
// schedule. A schedule whose definition is written again meanwhile has its turn in the next pass.
func (s *Scrubber) pass(ctx context.Context, shard int) error {
	p := pass{shard: shard, gone: map[schedule.Key]bool{}}
	if s.checker.reader.journals != nil {
		p.workflows, p.met = s.checker.newLook(false), newKeySet()
	}
	for _, trail := range s.checker.reader.trails(shard) {
		if err := s.follow(ctx, trail, &p); err != nil {
			return err
		}
	}
	if err := s.followJournals(ctx, &p); err != nil {
		return err
	}
	if p.failures > 0 {
		return fmt.Errorf("%d failures, the first: %w", p.failures, p.first)
	}
	return nil
}

// pass is the progress through a shard.
type pass struct {
	shard int
	// gone are the schedules without a definition that the pass has looked at.
	gone map[schedule.Key]bool
	// failures counts the failed looks, first is the error of the first one.
	failures int
	first    error
	// workflows is the look at workflows, and met are those that the pass has met; both are nil if workflows are not looked at.
	workflows *executionLook
	met       *keySet
}

func (p *pass) failed(err error) {
	p.failures++
	p.first = cmp.Or(p.first, err)
}

// follow walks a stream to its end. It retries failed reads a few times.
func (s *Scrubber) follow(ctx context.Context, t *trail, p *pass) error {
	for attempts := 0; ; {
		met, err := t.next(ctx)
		switch {
		case err == nil && len(met) == 0:
			return nil
		case err == nil:
			attempts = 0
			if t.journals {
				err = s.visitWorkflows(ctx, p, met)
			} else {
				err = s.visit(ctx, p, t, met)
			}
			s.confirm(ctx)
		case attempts < maxAttempts && ctx.Err() == nil:
			attempts++
			err = sleep.For(ctx, s.config.Pause)
		}
		if err != nil {
			return err
		}
	}
}

// visit looks at the schedules that some messages lead to, one after the other, and then rests for all of them together: to wake
// up for each would cost more than the look. The error is the error of ctx.
func (s *Scrubber) visit(ctx context.Context, p *pass, t *trail, met []string) error {
	keys, look := s.ledTo(ctx, p, met), s.checker.glance
	if t.passedBy != "" {
		keys, look = s.checker.reader.owners(p.shard, met), s.checker.look // a glance would not see such messages
	}
	for _, key := range keys {
		found, err := look(ctx, key)
		if err != nil {
			p.failed(err)
			continue
		}
		metrics.ConsistencyChecked.Add(ctx, 1)
		s.suspect(suspect{key: key, findings: found})
	}
	s.visitWakes(ctx, p, met)
	strange := 0
	for _, subject := range met {
		if _, _, ok := s.checker.reader.owner(p.shard, subject); !ok {
			strange++
		}
	}
	looks := float64(len(keys)) + max(float64(len(met)-strange-len(keys)), 0)/passedOver + float64(strange)/strangers
	return sleep.For(ctx, time.Duration(looks*float64(time.Second)/s.config.Rate))
}

// ledTo returns the schedules whose definitions are among some messages, and those without a definition that are new to the pass.
func (s *Scrubber) ledTo(ctx context.Context, p *pass, met []string) (keys []schedule.Key) {
	var others []schedule.Key
	for _, subject := range met {
		switch key, definition, ok := s.checker.reader.owner(p.shard, subject); {
		case definition:
			keys = append(keys, key)
		case ok && !p.gone[key]:
			others = append(others, key)
		}
	}
	gone, err := s.checker.reader.undefined(ctx, p.shard, others)
	if err != nil {
		p.failed(err)
	}
	for _, key := range gone {
		if !p.gone[key] {
			p.gone[key] = true
			keys = append(keys, key)
		}
	}
	return keys
}

// settle uses the time until the next pass to confirm what has been found.
func (s *Scrubber) settle(ctx context.Context, end time.Time) error {
	for len(s.suspects) > 0 {
		if err := sleep.For(ctx, s.suspects[0].due.Sub(s.now())); err != nil {
			return err
		}
		s.confirm(ctx)
	}
	return sleep.For(ctx, end.Sub(s.now()))
}

// suspect remembers findings for a second look.
func (s *Scrubber) suspect(about suspect) {
	if len(about.findings) > 0 && len(s.suspects) < maxSuspects {
		about.due = s.now().Add(s.config.Pause)
		s.suspects = append(s.suspects, about)
	}
}

// confirm looks again at the suspects that are due, and mends the faults that still exist.
func (s *Scrubber) confirm(ctx context.Context) {
	for len(s.suspects) > 0 && !s.now().Before(s.suspects[0].due) {
		first := s.suspects[0]
		s.suspects = s.suspects[1:]
		look := s.checker.look
		if first.workflow {
			look = s.checker.lookAtWorkflow
		}
		found, err := look(ctx, first.key)
		if err != nil {
			continue // the next pass finds it
		}
		for _, f := range confirmed(first.findings, found) {
			s.mend(ctx, &f)
		}
	}
}

// mend repairs what may be repaired without a person, and logs that and the rest.
func (s *Scrubber) mend(ctx context.Context, f *Finding) {
	log := s.config.Logger.With("namespace", f.Namespace, "schedule_id", f.ScheduleID, "workflow_id", f.WorkflowID, "kind", f.Kind, "about", f.About)
	if !f.Automatic() {
		metrics.ConsistencyFindings.Add(ctx, 1, string(f.Kind), metrics.FindingLeft)
		log.WarnContext(ctx, "inconsistency left to a person: carillon cluster check", "what", f.What, "repair", f.Repair)
		return
	}
	s.checker.mend(ctx, f)
	if f.Problem != "" {
		metrics.ConsistencyFindings.Add(ctx, 1, string(f.Kind), metrics.FindingFailed)
		log.WarnContext(ctx, "inconsistency not repaired", "what", f.What, "error", f.Problem)
		return
	}
	metrics.ConsistencyFindings.Add(ctx, 1, string(f.Kind), metrics.FindingMended)
	log.WarnContext(ctx, "inconsistency repaired", "what", f.What, "repair", f.Repair)
}
