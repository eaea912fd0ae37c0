// Package speaker is for whom a page asks, and by which connections.
//
// It may import client, internal/callers and subjects. Only package console and console/internal/pages import it. It must never decide who somebody is.
package speaker

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/callers"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Speaker asks in the name of one user, in one namespace. What the user may not do fails. It is safe for concurrent use.
type Speaker struct {
	// Client makes requests of the native API.
	*client.Client
	// Workflows and Operator make requests of Temporal's API. They name the namespace themselves.
	Workflows workflowservice.WorkflowServiceClient
	Operator  operatorservice.OperatorServiceClient
	// Conn is a connection of the user. Requests to JetStream go through AskJetStream. Names are those of the installation.
	Conn  *nats.Conn
	Names subjects.Names
	// Identity names the user in the event history.
	Identity string

	refusals *client.Refusals
}

// Config says what [New] needs. All fields are required.
type Config struct {
	// API is a client for the native API that uses Conn.
	API  *client.Client
	Conn *nats.Conn
	// Temporal has the services of Temporal, and Asker says for whom they act.
	Temporal grpc.ClientConnInterface
	Asker    callers.Asker
	Names    subjects.Names
	// Identity names the user.
	Identity string
	// Refusals are those of Conn; nil if nobody handles them.
	Refusals *client.Refusals
}

// New returns a speaker for the namespace of the client.
func New(config Config) *Speaker {
	services := asking{config.Temporal, config.Asker}
	return &Speaker{
		Client: config.API, Workflows: workflowservice.NewWorkflowServiceClient(services),
		Operator: operatorservice.NewOperatorServiceClient(services), Conn: config.Conn, Names: config.Names, Identity: config.Identity,
		refusals: config.Refusals,
	}
}

// asking has the services for one who asks.
type asking struct {
	grpc.ClientConnInterface
	asker callers.Asker
}

// Invoke calls a method in the name of who asks.
func (a asking) Invoke(ctx context.Context, method string, request, response any, options ...grpc.CallOption) error {
	return a.ClientConnInterface.Invoke(callers.NewContext(ctx, a.asker), method, request, response, options...)
}

// AskJetStream runs requests to JetStream, by a JetStream that is for them alone. If NATS refuses the user one of them, all of these end at once, and the
// error is an [client.ErrPermissionDenied] that names the subject: NATS itself would not answer. Other requests of the same user go on.
func (s *Speaker) AskJetStream(ctx context.Context, ask func(context.Context, jetstream.JetStream) error) error {
	ctx, sends, stop := s.refusals.Guard(ctx, s.Conn)
	defer stop()
	js, err := jetstream.New(s.Conn, jetstream.WithDefaultTimeout(patience), jetstream.WithClientTrace(&jetstream.ClientTrace{
		RequestSent: func(subject string, _ []byte) { sends(subject) },
	}))
	if err != nil {
		return err
	}
	err = ask(ctx, js)
	if refused := context.Cause(ctx); err != nil && errors.Is(refused, client.ErrPermissionDenied) {
		return refused
	}
	return err
}

// patience is how long a person waits for NATS.
const patience = 5 * time.Second

// In returns a speaker for another namespace. The error is an [*schedule.Error] about the name.
func (s *Speaker) In(namespace string) (*Speaker, error) {
	api, err := s.Client.In(namespace)
	if err != nil {
		return nil, err
	}
	other := *s
	other.Client = api
	return &other, nil
}

// As returns a speaker with another name in the event history. That proves nothing. The error is an [*schedule.Error] about the name.
func (s *Speaker) As(identity string) (*Speaker, error) {
	api, err := s.With(s.Namespace(), identity)
	if err != nil {
		return nil, err
	}
	other := *s
	other.Client, other.Identity = api, identity
	return &other, nil
}
