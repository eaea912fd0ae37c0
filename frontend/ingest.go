package frontend

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// ingestTimeout bounds the storing of a worker's report. A worker that gets no answer tries again.
	ingestTimeout = 4 * time.Second
	// ingestAtOnce is how many reports are stored at the same time.
	ingestAtOnce = 256
)

// ingest stores the reports of untrusted workers: completions, progress and dead letters. It removes headers that mean something
// to NATS, because a stream cannot be told to refuse them. For example, a reader that uses nats.go takes a message without a body
// and with the header "Status: 409" for the end of its consumer, not for a message. It would never be acknowledged and would come
// again forever; enough of them would leave the pool no room for others. So the account of an untrusted worker imports this
// subject, and its reports come here first.
type ingest struct {
	*Frontend
	turns   chan struct{}
	running sync.WaitGroup
}

// takeReports stores reports until stop is called. stop waits for those in progress.
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
		_ = subscription.Unsubscribe() // fails if the connection is closed
		in.running.Wait()
	}, nil
}

// store stores a report, and forwards the acknowledgement of its stream.
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

// plain returns the headers without those that mean something to NATS.
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
