package diagnosis

import (
	"context"

	"github.com/carillon-scheduler/carillon/internal/streamwatch"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/subjects"
)

// refused tests whether a stream accepts writes, and returns why it does not. If the test gets no answer and the stream has a
// leader, that is a problem. Without a leader, the missing leader is the fault.
func (g *gatherer) refused(ctx context.Context, l *lookup) string {
	outcome := streamwatch.Probe(ctx, g.JS, l.stream.Name)
	if outcome.Silent && l.stream.Leader != "" {
		l.problems = append(l.problems, l.stream.title()+": no answer to whether it takes writes; it may not take any")
	}
	return outcome.Refused
}

// checkWrites looks for streams that accept no writes.
func checkWrites(f *Facts) Check {
	var titles []string
	why := ""
	for i := range f.Streams {
		if s := &f.Streams[i]; s.Refused != "" {
			titles, why = append(titles, s.title()), s.Refused
		}
	}
	if len(titles) == 0 {
		return ok("storage", "all streams take writes")
	}
	return notOK("storage", Failed, "NATS refuses all writes since one has failed: "+listed(titles)+": "+why, streamwatch.WhenRefused+
		"; carillon server does that by itself with its embedded server, as soon as there is room")
}

// whatIsMissing returns the advice about the first stream that is missing, or about consumers, which processes create again.
func whatIsMissing(f *Facts, consumers string) string {
	names, err := subjects.New(f.Prefix)
	if err != nil {
		return consumers
	}
	for i := range f.Streams {
		if s := &f.Streams[i]; s.Missing {
			return s.title() + ": " + topology.WhenMissing(names, s.Name)
		}
	}
	return consumers
}
