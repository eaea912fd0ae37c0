package call

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
)

// Here answers a request of the same process, without NATS. It returns what RequestMsgWithContext of a connection returns for a request to one of the
// subjects of the server: the same answers and refusals, also of what is too large for NATS, the same limits of time and of room, and
// nats.ErrNoResponders once the server is closed. It may be called from any number of goroutines.
//
// The work goes on in the goroutine of the caller. It is aborted when ctx ends, and Here returns soon afterwards.
func (s *Server) Here(ctx context.Context, request *nats.Msg) (*nats.Msg, error) {
	if err := s.sendable(ctx, request); err != nil {
		return nil, err
	}
	switch refused := s.enter(); {
	case errors.Is(refused, errStopping):
		return nil, nats.ErrNoResponders
	case refused != nil:
		return s.answerOf(nil, refused), nil
	}
	defer s.leave()
	work, end := context.WithCancel(s.ctx)
	defer end()
	defer context.AfterFunc(ctx, end)()
	response, err := s.serve(work, request)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return s.answerOf(response, err), nil
}

// sendable refuses what a connection would not send.
func (s *Server) sendable(ctx context.Context, request *nats.Msg) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	most := s.config.Conn.MaxPayload()
	if int64(len(request.Data))+overhead <= most { // most requests are small, and the size of headers takes time
		return nil
	}
	if size := request.Size() - len(request.Subject) - len(request.Reply); int64(size) > most {
		return nats.ErrMaxPayload
	}
	return nil
}
