package frontend

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// ingestTimeout bounds the storing of what a worker reports. A worker that gets no answer tries again.
	ingestTimeout = 4 * time.Second
	// ingestAtOnce is how many reports are stored side by side.
	ingestAtOnce = 256
)

// ingest stores what workers report that are not trusted: completions, progress and dead letters. Headers tell NATS more than streams can
// be told to refuse: a message without a body whose headers say "Status: 409" is none of a stream to whoever reads it by nats.go, but the end
// of the consumer. It would never be acknowledged, and come again for ever; enough of them would leave the pool no room for others. In the
// account of such a worker, an import brings what it reports here. It goes on without such headers.
type ingest struct {
	*Frontend
	turns   chan struct{}
	running sync.WaitGroup
}

// takeReports stores reports until it is told to stop, which waits for those that are on their way.
func (f *Frontend) takeReports(ctx context.Context) (stop func(), err error) {
	in := &ingest{Frontend: f, turns: make(chan struct{}, ingestAtOnce)}
	subscription, err := f.config.Conn.QueueSubscribe(f.config.Names.Reports(), "frontend", func(report *nats.Msg) {
		in.turns <- struct{}{}
		in.running.Go(func() {
			defer func() { <-in.turns }()
			if err := in.store(ctx, report); err != nil {
				f.config.Logger.WarnContext(ctx, "report of a worker not stored", "subject", report.Subject, "error", err)
			}
		})
	})
	if err != nil {
		return nil, err
	}
	return func() {
		_ = subscription.Unsubscribe() // it fails if the connection is closed
		in.running.Wait()
	}, nil
}

// store stores a report, and passes the acknowledgement of its stream on.
func (in *ingest) store(ctx context.Context, report *nats.Msg) error {
	subject, err := in.config.Names.ParseReport(report.Subject)
	if err != nil {
		return err
	}
	if !in.mayAnswer(report.Reply) {
		return errOwnReply
	}
	ctx, cancel := context.WithTimeout(ctx, ingestTimeout)
	defer cancel()
	acknowledged, err := in.config.Conn.RequestMsgWithContext(ctx, &nats.Msg{Subject: subject, Header: plain(report.Header), Data: report.Data})
	if err != nil || report.Reply == "" {
		return err
	}
	return report.Respond(acknowledged.Data)
}

// plain are headers without those that mean something to NATS.
func plain(headers nats.Header) nats.Header {
	kept := nats.Header{}
	for name, values := range headers {
		lower := strings.ToLower(name)
		if !strings.HasPrefix(lower, "nats-") && lower != "status" && lower != "description" {
			kept[name] = values
		}
	}
	return kept
}
