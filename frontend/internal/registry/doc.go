// Package registry serves the namespaces of an installation: the verbs about them ([Service]), the decision which requests a namespace
// takes ([Service.Admit], [Service.AdmitRate], [Service.TakePlace]), and the background job that removes a namespace with everything in it
// ([Service.RemovalWork]).
//
// The package and its neighbours below frontend are for the frontend alone. It may import frontend/internal/limits,
// frontend/internal/listing, frontend/internal/request, schedule, subjects, kv and internal packages. It must never write a definition: how
// a schedule is deleted is given to it.
package registry
