package gateway

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"go.temporal.io/api/serviceerror"
	workerpb "go.temporal.io/api/worker/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/carillon-scheduler/carillon/internal/search/query"
)

// The methods here are about the workers that say how they are: SDKs send such a heartbeat each minute. Polls have nothing to do with them.

const (
	// maxBeat is the size in bytes of the largest heartbeat of a worker. Those of SDKs have a tenth of that at most.
	maxBeat = 64 << 10
	// maxWorkerPage is how many workers a page has at most, and if the request does not say.
	maxWorkerPage = 1000
)

// RecordWorkerHeartbeat takes the heartbeats of workers, and tells them to the other gateways.
func (s *workflowService) RecordWorkerHeartbeat(
	ctx context.Context, r *workflowservice.RecordWorkerHeartbeatRequest,
) (*workflowservice.RecordWorkerHeartbeatResponse, error) {
	if err := checkLength("Identity", r.Identity); err != nil {
		return nil, err
	}
	for _, beat := range r.WorkerHeartbeat {
		if err := checkBeat(beat); err != nil {
			return nil, err
		}
	}
	for _, beat := range r.WorkerHeartbeat {
		s.record(ctx, r.Namespace, beat)
	}
	return &workflowservice.RecordWorkerHeartbeatResponse{}, nil
}

// checkBeat refuses a heartbeat of nobody, and one that is too large.
func checkBeat(beat *workerpb.WorkerHeartbeat) error {
	if size := proto.Size(beat); size > maxBeat {
		return serviceerror.NewInvalidArgumentf("WorkerHeartbeat has %d bytes: use %d at most.", size, maxBeat)
	}
	return checkName("WorkerInstanceKey", beat.GetWorkerInstanceKey())
}

// record notes a heartbeat. That other gateways do not hear of it is no reason to refuse it: the next one comes in a minute.
func (g *Gateway) record(ctx context.Context, namespace string, beat *workerpb.WorkerHeartbeat) {
	if err := g.roster.Record(namespace, beat); err != nil {
		g.log.WarnContext(ctx, "other gateways do not hear of a worker", "namespace", namespace, "error", err)
	}
}

// ListWorkers returns a page of the workers for which a query holds, in the order of their instance keys. The token of the next page is the last key
// of this one.
func (s *workflowService) ListWorkers(
	_ context.Context, r *workflowservice.ListWorkersRequest,
) (*workflowservice.ListWorkersResponse, error) {
	if r.PageSize < 0 {
		return nil, serviceerror.NewInvalidArgumentf("PageSize is %d: it must be 0, for the default, or greater.", r.PageSize)
	}
	found, err := s.matchingWorkers(r.Namespace, r.Query)
	if err != nil {
		return nil, err
	}
	after := string(r.NextPageToken)
	found = slices.DeleteFunc(found, func(beat *workerpb.WorkerHeartbeat) bool { return beat.WorkerInstanceKey <= after })
	size := min(cmp.Or(int(r.PageSize), maxWorkerPage), maxWorkerPage, len(found))
	response := &workflowservice.ListWorkersResponse{}
	for _, beat := range found[:size] {
		//lint:ignore SA1019 clients still read it
		response.WorkersInfo = append(response.WorkersInfo, &workerpb.WorkerInfo{WorkerHeartbeat: beat})
		response.Workers = append(response.Workers, listed(beat))
	}
	if size < len(found) {
		response.NextPageToken = []byte(found[size-1].WorkerInstanceKey)
	}
	return response, nil
}

// CountWorkers counts the workers for which a query holds.
func (s *workflowService) CountWorkers(
	_ context.Context, r *workflowservice.CountWorkersRequest,
) (*workflowservice.CountWorkersResponse, error) {
	found, err := s.matchingWorkers(r.Namespace, r.Query)
	return &workflowservice.CountWorkersResponse{Count: int64(len(found))}, err
}

// DescribeWorker returns the last heartbeat of a worker.
func (s *workflowService) DescribeWorker(
	_ context.Context, r *workflowservice.DescribeWorkerRequest,
) (*workflowservice.DescribeWorkerResponse, error) {
	if err := checkName("WorkerInstanceKey", r.WorkerInstanceKey); err != nil {
		return nil, err
	}
	beat := s.roster.Find(r.Namespace, r.WorkerInstanceKey)
	if beat == nil {
		return nil, serviceerror.NewNotFoundf("worker %s is not known: it has ended, or has been silent for minutes", r.WorkerInstanceKey)
	}
	return &workflowservice.DescribeWorkerResponse{WorkerInfo: &workerpb.WorkerInfo{WorkerHeartbeat: beat}}, nil
}

// matchingWorkers returns the workers of a namespace for which a query holds.
func (g *Gateway) matchingWorkers(namespace, text string) ([]*workerpb.WorkerHeartbeat, error) {
	q, err := query.ParseWorkers(text)
	var bad *query.Error
	if errors.As(err, &bad) {
		return nil, serviceerror.NewInvalidArgument("invalid query: " + query.Explain(text, err))
	}
	all := g.roster.All(namespace)
	return slices.DeleteFunc(all, func(beat *workerpb.WorkerHeartbeat) bool { return !q.Matches(workerRow{beat}) }), err
}

// listed returns what a list says about a worker.
func listed(beat *workerpb.WorkerHeartbeat) *workerpb.WorkerListInfo {
	return &workerpb.WorkerListInfo{
		WorkerInstanceKey: beat.WorkerInstanceKey, WorkerIdentity: beat.WorkerIdentity, TaskQueue: beat.TaskQueue,
		DeploymentVersion: beat.DeploymentVersion, SdkName: beat.SdkName, SdkVersion: beat.SdkVersion, Status: beat.Status,
		StartTime: beat.StartTime, HostName: beat.GetHostInfo().GetHostName(), WorkerGroupingKey: beat.GetHostInfo().GetWorkerGroupingKey(),
		ProcessId: beat.GetHostInfo().GetProcessId(), Plugins: beat.Plugins, Drivers: beat.Drivers,
	}
}

// workerRow is a worker as a query sees it.
type workerRow struct{ *workerpb.WorkerHeartbeat }

// Values implements [query.Row]. A text that is empty is none.
func (w workerRow) Values(field query.Field) (values []query.Value, present bool) {
	switch field.Name {
	case query.StartTime:
		return timesOf(w.StartTime)
	case query.HeartbeatTime:
		return timesOf(w.HeartbeatTime)
	}
	text := w.text(field.Name)
	if text == "" {
		return nil, false
	}
	return []query.Value{query.TextOf(text)}, true
}

func timesOf(at *timestamppb.Timestamp) (values []query.Value, present bool) {
	if at == nil {
		return nil, false
	}
	return []query.Value{query.TimeOf(at.AsTime())}, true
}

// text returns the text of a field.
func (w workerRow) text(field string) string {
	switch field {
	case query.WorkerInstanceKey:
		return w.WorkerHeartbeat.WorkerInstanceKey
	case query.WorkerIdentity:
		return w.WorkerHeartbeat.WorkerIdentity
	case query.HostName:
		return w.GetHostInfo().GetHostName()
	case query.QueueOf:
		return w.GetTaskQueue()
	case query.DeploymentName:
		return w.GetDeploymentVersion().GetDeploymentName()
	case query.BuildID:
		return w.GetDeploymentVersion().GetBuildId()
	case query.SDKName:
		return w.GetSdkName()
	case query.SDKVersion:
		return w.GetSdkVersion()
	case query.WorkerStatus:
		return w.GetStatus().String()
	}
	return ""
}
