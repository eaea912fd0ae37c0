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
