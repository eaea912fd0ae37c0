package schedules

import (
	"cmp"
	"context"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
	"github.com/carillon-scheduler/carillon/specproc/prose"
)

// defaultTimes is how many times preview returns if the request does not say.
const defaultTimes = 10

// MatchingTimes answers from the spec alone. Whether the times were or will be acted upon does not matter.
func (s *Service) MatchingTimes(
	ctx context.Context, namespace string, req *schedule.MatchingTimesRequest,
) (schedule.TimesReply, error) {
	record, err := s.definition(ctx, schedule.Key{Namespace: namespace, ID: req.ID})
	if err != nil {
		return schedule.TimesReply{}, err
	}
	times, err := s.times(&record.Value)
	if err != nil {
		return schedule.TimesReply{}, err
	}
	return times.between(req.From, req.To, schedule.MaxPageSize), nil
}

// Preview answers for a spec that is not stored.
func (s *Service) Preview(
	ctx context.Context, namespace string, req *schedule.PreviewRequest,
) (schedule.TimesReply, error) {
	spec := req.Spec
	if req.ID == "" {
		spec.Jitter = 0 // it depends on the schedule
	}
	copies, err := s.Calendars.Of(ctx, namespace, &spec)
	if err != nil {
		return schedule.TimesReply{}, err
	}
	def := wire.Definition{Namespace: namespace, ID: req.ID, Calendars: copies}
	calendars := def.NamedCalendars()
	compiled, err := specproc.CompileWith(spec, calendars)
	if err != nil {
		return schedule.TimesReply{}, schedule.Prefix("spec", err)
	}
	from := req.From
	if from.IsZero() {
		from = s.now()
	}
	reply := times{spec: compiled, seed: def.JitterSeed()}.between(from, time.Time{}, cmp.Or(req.Count, defaultTimes))
	reply.Words = []string{prose.Describe(req.Spec)}
	reply.Warnings = warnings(prose.WarningsWith(req.Spec, calendars, from))
	return reply, nil
}

// between returns the first times, no more than most, whose nominal time is in [from, to]. A zero to is no bound.
func (t times) between(from, to time.Time, most int) schedule.TimesReply {
	reply := schedule.TimesReply{Times: []schedule.DueTime{}}
	next, ok := t.spec.Next(from.Add(-time.Nanosecond), t.seed)
	for ; ok && (to.IsZero() || !next.Nominal.After(to)); next, ok = t.spec.Next(next.Nominal, t.seed) {
		if len(reply.Times) == most {
			reply.More = true
			break
		}
		reply.Times = append(reply.Times, schedule.DueTime{NominalTime: next.Nominal, DueTime: next.Actual})
	}
	return reply
}

// addTimesOfPaused adds to the description of a paused schedule when it would be due if it were not paused. The generator arms no timer for
// such a schedule, so what it could store would be over after a while. A spec that cannot be compiled has no times: warnings say so.
func (s *Service) addTimesOfPaused(d *schedule.Description, def *wire.Definition) {
	if !d.State.Paused {
		return
	}
	count := maxFuture
	if d.State.LimitedActions {
		count = min(count, d.State.RemainingActions)
	}
	if times, err := s.times(def); err == nil {
		d.Info.FutureActionTimes = times.notSkipped(s.now(), def.Skips, count)
		d.Info.ZoneData = d.Info.FrontendZoneData // a full description says by which rules it worked them out
	}
}

// notSkipped returns the next actual times after a time, no more than most, without those whose nominal time is to be skipped. It is never
// nil.
func (t times) notSkipped(after time.Time, skips []time.Time, most int) []time.Time {
	all := []time.Time{}
	next, ok := t.spec.NextDue(after, t.seed)
	for ; ok && len(all) < most; next, ok = t.spec.Next(next.Nominal, t.seed) {
		if !contains(skips, next.Nominal) {
			all = append(all, next.Actual)
		}
	}
	return all
}
