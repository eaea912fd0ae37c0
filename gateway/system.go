package gateway

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/version/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const (
	// speaks is the version of Temporal's server whose API this is. Clients choose by it what they ask for.
	speaks = "1.32.0"
	// storage is what clients are told about where things are kept.
	storage = "nats-jetstream"
)

// workflowService has the methods of Temporal's WorkflowService that are here. The embedded type has the others, which are never called:
// [missingFeatures] has their answers.
type workflowService struct {
	workflowservice.UnimplementedWorkflowServiceServer
	*Gateway
}

// GetSystemInfo says what the server can do. Every client asks it first.
func (s *workflowService) GetSystemInfo(
	context.Context, *workflowservice.GetSystemInfoRequest,
) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{
		ServerVersion: speaks,
		Capabilities: &workflowservice.GetSystemInfoResponse_Capabilities{
			SignalAndQueryHeader:            true,
			InternalErrorDifferentiation:    true,
			ActivityFailureIncludeHeartbeat: true,
			SupportsSchedules:               true,
			EncodedFailureAttributes:        true,
			UpsertMemo:                      true,
			SdkMetadata:                     true,
			EagerWorkflowStart:              true,
			BuildIdBasedVersioning:          true, // workers say what code they have; tasks are not routed by it
		},
	}, nil
}

// GetClusterInfo describes the installation.
func (s *workflowService) GetClusterInfo(
	context.Context, *workflowservice.GetClusterInfoRequest,
) (*workflowservice.GetClusterInfoResponse, error) {
	return &workflowservice.GetClusterInfoResponse{
		SupportedClients: map[string]string{
			"temporal-go": "<2.0.0", "temporal-java": "<2.0.0", "temporal-php": "<3.0.0", "temporal-python": "<2.0.0",
			"temporal-typescript": "<2.0.0", "temporal-dotnet": "<2.0.0", "temporal-ruby": "<2.0.0", "temporal-rust": "<2.0.0",
			"temporal-cli": "<2.0.0", "temporal-ui": "<3.0.0",
		},
		ServerVersion:     speaks,
		ClusterId:         s.clusterID(),
		ClusterName:       s.config.Names.Prefix(),
		HistoryShardCount: int32(s.config.Shards),
		PersistenceStore:  storage,
		VisibilityStore:   storage,
		VersionInfo: &version.VersionInfo{Current: &version.ReleaseInfo{
			Version: s.config.Version, ReleaseTime: timestamppb.New(s.config.Created), Notes: "Carillon",
		}},
	}, nil
}

// clusterID is the ID of the installation.
func (g *Gateway) clusterID() string { return g.identify("installation") }

// identify returns an ID, as Temporal has one, for something that has only a name here. It is the same in all gateways of the installation.
func (g *Gateway) identify(name string) string {
	parts := []string{g.config.Names.Prefix(), g.config.Created.UTC().Format(time.RFC3339Nano), name}
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(strings.Join(parts, "\x00"))).String()
}
