package gateway

import (
	"context"
	"errors"

	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/schedule"
)

// operatorService has the methods of Temporal's OperatorService that are here. The embedded type has the others, which are never called:
// [missingFeatures] has their answers.
type operatorService struct {
	operatorservice.UnimplementedOperatorServiceServer
	*Gateway
}

// ListClusters returns a single page with this installation. Clusters of Temporal that replicate each other, which it is for, are not here;
// what the other fields say of them stays empty.
func (s *operatorService) ListClusters(
	context.Context, *operatorservice.ListClustersRequest,
) (*operatorservice.ListClustersResponse, error) {
	return &operatorservice.ListClustersResponse{Clusters: []*operatorservice.ClusterMetadata{{
		ClusterName:         s.config.Names.Prefix(),
		ClusterId:           s.clusterID(),
		HistoryShardCount:   int32(s.config.Shards),
		IsConnectionEnabled: true,
	}}}, nil
}

// DeleteNamespace deletes a namespace with everything in it.
func (s *operatorService) DeleteNamespace(
	ctx context.Context, request *operatorservice.DeleteNamespaceRequest,
) (*operatorservice.DeleteNamespaceResponse, error) {
	record, err := s.findNamespace(ctx, request.Namespace, request.NamespaceId)
	if err != nil {
		return nil, err
	}
	_, err = s.config.API.DeleteNamespace(ctx, record.Name, schedule.DeleteNamespaceRequest{Force: true})
	if errors.Is(err, client.ErrNotFound) {
		return nil, serviceerror.NewNamespaceNotFound(record.Name)
	}
	return &operatorservice.DeleteNamespaceResponse{DeletedNamespace: record.Name}, err
}
