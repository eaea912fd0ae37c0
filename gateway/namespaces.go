package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/replication/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// maxBlob is the size in bytes of the largest payloads in one field: an input, a result.
	maxBlob = 2 << 20
	// maxMemo is the same of a memo.
	maxMemo = 2 << 20
	// defaultNamespacePage and maxNamespacePage are how many namespaces a page has, and how many at most.
	defaultNamespacePage = 100
	maxNamespacePage     = 1000
)

// RegisterNamespace creates a namespace. A retention of zero is the default one.
func (s *workflowService) RegisterNamespace(
	ctx context.Context, request *workflowservice.RegisterNamespaceRequest,
) (*workflowservice.RegisterNamespaceResponse, error) {
	switch {
	case request.IsGlobalNamespace, len(request.Clusters) > 1:
		return nil, errNotReplicated
	case request.OwnerEmail != "", len(request.Data) > 0:
		return nil, errOnlyDescription
	}
	limits, err := keeping(schedule.NamespaceLimits{}, request.WorkflowExecutionRetentionPeriod)
	if err != nil {
		return nil, err
	}
	limits.Archive, err = archival{
		request.HistoryArchivalState, request.VisibilityArchivalState, request.HistoryArchivalUri, request.VisibilityArchivalUri,
	}.apply("")
	if err != nil {
		return nil, err
	}
	_, err = s.config.API.CreateNamespace(ctx, request.Namespace, schedule.CreateNamespaceRequest{Description: request.Description, Limits: limits})
	if errors.Is(err, client.ErrAlreadyExists) {
		return nil, serviceerror.NewNamespaceAlreadyExists("Namespace already exists.")
	}
	return &workflowservice.RegisterNamespaceResponse{}, err
}

// keeping returns limits with the retention that a request gives; unchanged if it gives none.
func keeping(limits schedule.NamespaceLimits, retention *durationpb.Duration) (schedule.NamespaceLimits, error) {
	keep := retention.AsDuration()
	switch {
	case keep == 0:
		return limits, nil
	case keep < schedule.MinWorkflowRetention || keep > schedule.MaxWorkflowRetention:
		return limits, serviceerror.NewInvalidArgument(fmt.Sprintf("A valid retention period is not set on request: %s must be %s to %s.",
			keep, schedule.MinWorkflowRetention, schedule.MaxWorkflowRetention))
	}
	limits.WorkflowRetention = schedule.Duration(keep)
	return limits, nil
}

// Temporal's settings of a namespace that are not here.
var (
	errOnlyDescription = serviceerror.NewUnimplemented("of a namespace only the description is kept: owner and data are not implemented")
	errOnlyRetention   = serviceerror.NewUnimplemented("of the configuration of a namespace only the retention and the archive are implemented: carillon " +
		"namespace update sets its limits")
	errNotReplicated = serviceerror.NewUnimplemented("replication between clusters is not implemented: a cluster of NATS servers keeps the replicas")
)

// DescribeNamespace describes a namespace, by its name or ID.
func (s *workflowService) DescribeNamespace(
	ctx context.Context, request *workflowservice.DescribeNamespaceRequest,
) (*workflowservice.DescribeNamespaceResponse, error) {
	record, err := s.findNamespace(ctx, request.Namespace, request.Id)
	if err != nil {
		return nil, err
	}
	return s.namespaceResponse(&record), nil
}

// findNamespace reads a namespace by its name, or by its ID if it has no name.
func (g *Gateway) findNamespace(ctx context.Context, name, id string) (schedule.Namespace, error) {
	switch {
	case name == "" && id == "":
		return schedule.Namespace{}, serviceerror.NewInvalidArgument("Namespace not set on request.")
	case name != "":
		return g.storedNamespace(ctx, name)
	}
	names, err := g.config.Records.Names(ctx)
	if err != nil {
		return schedule.Namespace{}, err
	}
	for _, name := range names {
		if g.identify(name) == id { // the IDs follow from the names
			return g.storedNamespace(ctx, name)
		}
	}
	return schedule.Namespace{}, serviceerror.NewNamespaceNotFound(id)
}

// storedNamespace reads a namespace as it is stored.
func (g *Gateway) storedNamespace(ctx context.Context, name string) (schedule.Namespace, error) {
	if schedule.ValidateNamespace(name) != nil {
		return schedule.Namespace{}, serviceerror.NewNamespaceNotFound(name)
	}
	record, err := g.config.Records.Get(ctx, name)
	if errors.Is(err, kv.ErrNotFound) {
		return schedule.Namespace{}, serviceerror.NewNamespaceNotFound(name)
	}
	return record.Namespace, err
}

// ListNamespaces returns a page of the namespaces, in the order of their names. The token of the next page is the last name of this one.
func (s *workflowService) ListNamespaces(
	ctx context.Context, request *workflowservice.ListNamespacesRequest,
) (*workflowservice.ListNamespacesResponse, error) {
	names, err := s.config.Records.Names(ctx)
	if err != nil {
		return nil, err
	}
	after := string(request.NextPageToken)
	names = slices.DeleteFunc(names, func(name string) bool { return name <= after })
	size := min(cmp.Or(max(int(request.PageSize), 0), defaultNamespacePage), maxNamespacePage, len(names))
	records, err := s.config.Records.Read(ctx, names[:size])
	if err != nil {
		return nil, err
	}
	response := &workflowservice.ListNamespacesResponse{}
	for i := range records {
		if !records[i].Deleting || request.GetNamespaceFilter().GetIncludeDeleted() {
			response.Namespaces = append(response.Namespaces, s.namespaceResponse(&records[i]))
		}
	}
	if size < len(names) {
		response.NextPageToken = []byte(names[size-1])
	}
	return response, nil
}

// UpdateNamespace changes the description, the retention and the archive of a namespace.
func (s *workflowService) UpdateNamespace(
	ctx context.Context, request *workflowservice.UpdateNamespaceRequest,
) (*workflowservice.UpdateNamespaceResponse, error) {
	info := request.GetUpdateInfo()
	switch {
	case request.PromoteNamespace, proto.Size(request.ReplicationConfig) > 0:
		return nil, errNotReplicated
	case setsAnything(request.Config), request.DeleteBadBinary != "":
		return nil, errOnlyRetention
	case info.GetOwnerEmail() != "", len(info.GetData()) > 0, info.GetState() != enums.NAMESPACE_STATE_UNSPECIFIED:
		return nil, errOnlyDescription
	}
	record, err := s.findNamespace(ctx, request.Namespace, "")
	if err != nil {
		return nil, err
	}
	limits, err := configured(record.Limits, request.Config)
	if err != nil {
		return nil, err
	}
	if description := info.GetDescription(); description != "" || limits != record.Limits {
		d, err := s.config.API.UpdateNamespace(ctx, request.Namespace, schedule.UpdateNamespaceRequest{
			Description: cmp.Or(description, record.Description), Limits: limits, ConflictToken: record.Version,
		})
		if err != nil {
			return nil, err
		}
		record.Description, record.Limits = d.Description, d.Limits
	}
	described := s.namespaceResponse(&record)
	return &workflowservice.UpdateNamespaceResponse{
		NamespaceInfo: described.NamespaceInfo, Config: described.Config, ReplicationConfig: described.ReplicationConfig,
	}, nil
}

// configured returns limits with what a configuration gives.
func configured(limits schedule.NamespaceLimits, config *namespace.NamespaceConfig) (schedule.NamespaceLimits, error) {
	limits, err := keeping(limits, config.GetWorkflowExecutionRetentionTtl())
	if err != nil {
		return limits, err
	}
	limits.Archive, err = archival{
		config.GetHistoryArchivalState(), config.GetVisibilityArchivalState(), config.GetHistoryArchivalUri(), config.GetVisibilityArchivalUri(),
	}.apply(limits.Archive)
	return limits, err
}

// setsAnything reports whether a configuration asks for something else than a retention and an archive. Clients send one even if it does not.
func setsAnything(config *namespace.NamespaceConfig) bool {
	asked := proto.CloneOf(config)
	if asked != nil {
		asked.WorkflowExecutionRetentionTtl = nil
		asked.HistoryArchivalState, asked.VisibilityArchivalState = enums.ARCHIVAL_STATE_UNSPECIFIED, enums.ARCHIVAL_STATE_UNSPECIFIED
		asked.HistoryArchivalUri, asked.VisibilityArchivalUri = "", ""
	}
	return proto.Size(asked) > 0
}

// namespaceResponse says of a namespace what Temporal's clients may know.
func (g *Gateway) namespaceResponse(d *schedule.Namespace) *workflowservice.DescribeNamespaceResponse {
	state := enums.NAMESPACE_STATE_REGISTERED
	if d.Deleting {
		state = enums.NAMESPACE_STATE_DELETED
	}
	cluster := g.config.Names.Prefix()
	return &workflowservice.DescribeNamespaceResponse{
		NamespaceInfo: &namespace.NamespaceInfo{
			Name: d.Name, State: state, Description: d.Description, Id: g.identify(d.Name),
			Capabilities: &namespace.NamespaceInfo_Capabilities{
				SyncUpdate: true, AsyncUpdate: true, WorkerHeartbeats: true, WorkerPollCompleteOnShutdown: true,
			},
			Limits: &namespace.NamespaceInfo_Limits{BlobSizeLimitError: maxBlob, MemoSizeLimitError: maxMemo},
		},
		Config: &namespace.NamespaceConfig{
			HistoryArchivalState: archivalState(d.Limits.Archive), HistoryArchivalUri: d.Limits.Archive,
			VisibilityArchivalState: archivalState(d.Limits.Archive), VisibilityArchivalUri: d.Limits.Archive,
			WorkflowExecutionRetentionTtl: durationpb.New(d.Limits.KeepsRuns()),
		},
		ReplicationConfig: &replication.NamespaceReplicationConfig{
			ActiveClusterName: cluster, Clusters: []*replication.ClusterReplicationConfig{{ClusterName: cluster}},
			State: enums.REPLICATION_STATE_NORMAL,
		},
	}
}
