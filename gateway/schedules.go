package gateway

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/scheduleproto"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/schedule"
)

// The methods here are about schedules. A frontend carries them out.

const (
	// anonymous is the identity of a client that does not say its own.
	anonymous = "a client of Temporal"
	// maxScheduleUpdates bounds the attempts to update a schedule that others update at the same time, or that was read a moment too
	// early. updatePause is the wait between two.
	maxScheduleUpdates = 16
	updatePause        = 20 * time.Millisecond
)

// aboutSchedule is a request about one schedule.
type aboutSchedule interface {
	inNamespace
	GetScheduleId() string
}

// schedules returns a client of the frontend that speaks for a client of Temporal.
func (g *Gateway) schedules(r inNamespace, identity string) (*client.Client, error) {
	return g.config.API.With(r.GetNamespace(), cmp.Or(identity, anonymous))
}

// schedule is schedules for a request about one schedule, which it checks. The ID of the request may be missing.
func (g *Gateway) schedule(r aboutSchedule, identity, requestID string) (*client.Client, error) {
	if err := cmp.Or(checkName("ScheduleId", r.GetScheduleId()), checkLength("RequestId", requestID)); err != nil {
		return nil, err
	}
	return g.schedules(r, identity)
}

// requestID returns the ID of a request, in the form that the frontend takes: Temporal's may be longer. purpose tells apart several requests
// of ours that one of a client becomes.
func requestID(id, purpose string) string {
	if id == "" {
		return uuid.NewString()
	}
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(purpose+"\x00"+id)).String()
}

// CreateSchedule creates a schedule. A trigger of the initial patch that has an overlap policy or a time of its own is a request of its own.
func (s *workflowService) CreateSchedule(
	ctx context.Context, r *workflowservice.CreateScheduleRequest,
) (*workflowservice.CreateScheduleResponse, error) {
	api, err := s.schedule(r, r.Identity, r.RequestId)
	if err != nil {
		return nil, err
	}
	if err = s.completeSchedule(ctx, r.Namespace, r.SearchAttributes, r.Schedule); err != nil {
		return nil, err
	}
	request, later, err := createRequest(r)
	if err != nil {
		return nil, err
	}
	created, err := api.Create(ctx, request)
	if errors.Is(err, client.ErrAlreadyExists) {
		return nil, serviceerror.NewWorkflowExecutionAlreadyStarted("schedule "+r.ScheduleId+" is already registered", "", "")
	}
	if err == nil && later != nil {
		created, err = api.Patch(ctx, schedule.PatchRequest{ID: r.ScheduleId, Trigger: later, RequestID: requestID(r.RequestId, "trigger")})
	}
	return &workflowservice.CreateScheduleResponse{ConflictToken: scheduleproto.Token(created.ConflictToken)}, err
}

// createRequest reads a request to create. It returns the trigger that must follow, if the request to the frontend cannot hold it.
func createRequest(r *workflowservice.CreateScheduleRequest) (
	request schedule.CreateRequest, later *schedule.Trigger, err error,
) {
	request = schedule.CreateRequest{ID: r.ScheduleId, RequestID: requestID(r.RequestId, "create")}
	if request.Schedule, err = scheduleproto.Parse(r.Schedule); err != nil {
		return request, nil, err
	}
	if err = scheduleproto.SetFields(&request.Schedule, r.Memo, r.SearchAttributes); err != nil {
		return request, nil, err
	}
	patch, err := scheduleproto.Patch(r.InitialPatch)
	if err != nil {
		return request, nil, err
	}
	later, err = initialPatch(&request, &patch)
	return request, later, err
}

// initialPatch adds a patch to the request to create. The trigger that it returns is one that the request cannot hold.
func initialPatch(request *schedule.CreateRequest, patch *schedule.PatchRequest) (later *schedule.Trigger, err error) {
	request.Backfills = patch.Backfills
	switch {
	case patch.Pause != nil && patch.Unpause != nil:
		return nil, schedule.Invalid("initial_patch", "has both pause and unpause: use one of them")
	case patch.Pause != nil:
		request.State.Paused, request.State.Notes = true, patch.Pause.Note
	case patch.Unpause != nil:
		request.State.Paused, request.State.Notes = false, patch.Unpause.Note
	}
	if patch.Trigger == nil {
		return nil, nil
	}
	own := request.Policies.Overlap.Or(schedule.OverlapSkip)
	if patch.Trigger.Overlap.Or(own) != own || !patch.Trigger.NominalTime.IsZero() {
		return patch.Trigger, nil
	}
	request.TriggerNow = true
	return nil, nil
}

// DescribeSchedule describes a schedule.
func (s *workflowService) DescribeSchedule(
	ctx context.Context, r *workflowservice.DescribeScheduleRequest,
) (*workflowservice.DescribeScheduleResponse, error) {
	api, err := s.schedule(r, "", "")
	if err != nil {
		return nil, err
	}
	d, err := api.Describe(ctx, r.ScheduleId)
	if err != nil {
		return nil, err
	}
	shown, err := scheduleproto.Schedule(&d.Schedule)
	if err != nil {
		return nil, err
	}
	memo, attributes, err := scheduleproto.Fields(&d.Schedule)
	if err == nil {
		err = s.describeAttributes(ctx, r.Namespace, attributes, shown.Action.GetStartWorkflow().GetSearchAttributes())
	}
	if err != nil {
		return nil, err
	}
	return &workflowservice.DescribeScheduleResponse{
		Schedule: shown, Info: scheduleproto.Info(&d.Info), Memo: memo, SearchAttributes: attributes,
		ConflictToken: scheduleproto.Token(d.ConflictToken),
	}, nil
}

// UpdateSchedule replaces a schedule. What Temporal's clients cannot see of it stays as it is.
func (s *workflowService) UpdateSchedule(
	ctx context.Context, r *workflowservice.UpdateScheduleRequest,
) (*workflowservice.UpdateScheduleResponse, error) {
	token, err := scheduleproto.ParseToken(r.ConflictToken)
	if err != nil {
		return nil, err
	}
	api, err := s.schedule(r, r.Identity, r.RequestId)
	if err != nil {
		return nil, err
	}
	if err = s.completeSchedule(ctx, r.Namespace, r.SearchAttributes, r.Schedule); err != nil {
		return nil, err
	}
	id := requestID(r.RequestId, "update")
	for attempt := 1; ; attempt++ {
		again, err := updateOnce(ctx, api, r, id, token)
		if !again || attempt == maxScheduleUpdates || sleep.For(ctx, updatePause) != nil {
			return &workflowservice.UpdateScheduleResponse{}, mismatch(err)
		}
	}
}

// updateOnce updates a schedule in the version that it reads. again says that another attempt may succeed: that version is not the one of
// the token yet, or, without a token, no longer the newest.
func updateOnce(
	ctx context.Context, api *client.Client, r *workflowservice.UpdateScheduleRequest, id string, token uint64,
) (again bool, err error) {
	current, err := api.Describe(ctx, r.ScheduleId)
	if err != nil {
		return false, err
	}
	if current.ConflictToken < token {
		return true, errTokenMismatch
	}
	next, err := scheduleproto.Replace(&current.Schedule, r.Schedule)
	if err == nil {
		err = scheduleproto.SetFields(&next, r.Memo, r.SearchAttributes)
	}
	if err != nil {
		return false, err
	}
	_, err = api.Update(ctx, schedule.UpdateRequest{
		ID: r.ScheduleId, Schedule: next, ConflictToken: cmp.Or(token, current.ConflictToken), RequestID: id,
	})
	return token == 0 && isMismatch(err), err
}

// errTokenMismatch is in the words of Temporal.
var errTokenMismatch = serviceerror.NewFailedPrecondition("mismatched conflict token")

// isMismatch reports whether the frontend has refused a conflict token.
func isMismatch(err error) bool {
	refused, ok := errors.AsType[*schedule.Error](err)
	return ok && refused.Code == schedule.CodeFailedPrecondition && refused.Field == "conflictToken"
}

func mismatch(err error) error {
	if isMismatch(err) {
		return errTokenMismatch
	}
	return err
}

// PatchSchedule triggers a schedule, backfills it, pauses or unpauses it: all that the patch has, or nothing.
func (s *workflowService) PatchSchedule(
	ctx context.Context, r *workflowservice.PatchScheduleRequest,
) (*workflowservice.PatchScheduleResponse, error) {
	api, err := s.schedule(r, r.Identity, r.RequestId)
	if err != nil {
		return nil, err
	}
	if r.Patch == nil {
		return nil, serviceerror.NewInvalidArgument("Patch is not set on request.")
	}
	request, err := scheduleproto.Patch(r.Patch)
	if err != nil {
		return nil, err
	}
	request.ID, request.RequestID = r.ScheduleId, requestID(r.RequestId, "patch")
	_, err = api.Patch(ctx, request)
	return &workflowservice.PatchScheduleResponse{}, err
}

// DeleteSchedule deletes a schedule. Its runs go on.
func (s *workflowService) DeleteSchedule(
	ctx context.Context, r *workflowservice.DeleteScheduleRequest,
) (*workflowservice.DeleteScheduleResponse, error) {
	api, err := s.schedule(r, r.Identity, "")
	if err != nil {
		return nil, err
	}
	err = api.DeleteVersion(ctx, schedule.DeleteRequest{ID: r.ScheduleId, Runs: schedule.RunsLeave})
	return &workflowservice.DeleteScheduleResponse{}, err
}

// ListSchedules returns a page of the schedules of a namespace. Only a query needs a frontend with a search index.
func (s *workflowService) ListSchedules(
	ctx context.Context, r *workflowservice.ListSchedulesRequest,
) (*workflowservice.ListSchedulesResponse, error) {
	api, err := s.schedules(r, "")
	if err != nil {
		return nil, err
	}
	query, err := scheduleproto.Query(r.Query)
	if err != nil {
		return nil, err
	}
	page, err := api.List(ctx, schedule.ListRequest{
		PageSize: pageSize(r.MaximumPageSize), PageToken: string(r.NextPageToken), Query: query,
	})
	if err != nil {
		return nil, err
	}
	response := &workflowservice.ListSchedulesResponse{NextPageToken: []byte(page.NextPageToken)}
	var attributes []*common.SearchAttributes
	for i := range page.Schedules {
		entry, err := scheduleproto.Entry(&page.Schedules[i])
		if err != nil {
			return nil, err
		}
		response.Schedules, attributes = append(response.Schedules, entry), append(attributes, entry.SearchAttributes)
	}
	return response, s.describeAttributes(ctx, r.Namespace, attributes...)
}

// pageSize returns the size of the page that a client asks for. Temporal answers any other size with the largest page.
func pageSize(asked int32) int {
	if asked <= 0 || asked > schedule.MaxPageSize {
		return schedule.MaxPageSize
	}
	return int(asked)
}

// CountSchedules counts the schedules of a namespace, or those for which a query holds.
func (s *workflowService) CountSchedules(
	ctx context.Context, r *workflowservice.CountSchedulesRequest,
) (*workflowservice.CountSchedulesResponse, error) {
	api, err := s.schedules(r, "")
	if err != nil {
		return nil, err
	}
	query, err := scheduleproto.Query(r.Query)
	if err != nil {
		return nil, err
	}
	reply, err := api.CountMatching(ctx, schedule.CountRequest{Query: query})
	return &workflowservice.CountSchedulesResponse{Count: int64(reply.Count)}, err
}

// ListScheduleMatchingTimes returns when a schedule is due, with jitter, after one time and up to another.
func (s *workflowService) ListScheduleMatchingTimes(
	ctx context.Context, r *workflowservice.ListScheduleMatchingTimesRequest,
) (*workflowservice.ListScheduleMatchingTimesResponse, error) {
	api, err := s.schedule(r, "", "")
	if err != nil {
		return nil, err
	}
	if r.StartTime.CheckValid() != nil || r.EndTime.CheckValid() != nil {
		return nil, serviceerror.NewInvalidArgument("StartTime and EndTime must be set to valid times on request.")
	}
	response := &workflowservice.ListScheduleMatchingTimesResponse{}
	from, to := r.StartTime.AsTime().Add(time.Nanosecond), r.EndTime.AsTime()
	if to.Before(from) {
		return response, nil
	}
	reply, err := api.MatchingTimes(ctx, schedule.MatchingTimesRequest{ID: r.ScheduleId, From: from, To: to})
	for _, t := range reply.Times {
		if !t.DueTime.After(to) {
			response.StartTime = append(response.StartTime, timestamppb.New(t.DueTime))
		}
	}
	return response, err
}
