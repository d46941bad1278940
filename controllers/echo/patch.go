package echo

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers"
)

// patchFinalizers sets the finalizers of an Echo, unless the Echo has changed since it was read.
func (r *Reconciler) patchFinalizers(ctx context.Context, echo *v1.Echo, finalizers []string) error {
	patch := controllers.EchoPatch{}
	patch.Metadata.Finalizers = &finalizers
	err := r.patchEcho(echo, patch, func(answer client.Object, body client.Patch) error { return r.Client.Patch(ctx, answer, body) })
	if err != nil {
		return fmt.Errorf("writing the finalizers: %w", err)
	}
	echo.Finalizers = finalizers
	return nil
}

// patchStatus sets the status of an Echo, unless the Echo has changed since it was read.
func (r *Reconciler) patchStatus(ctx context.Context, echo *v1.Echo, status v1.EchoStatus) error {
	patch, err := controllers.StatusPatch(echo, &status)
	if err != nil {
		return fmt.Errorf("comparing the status: %w", err)
	}
	err = r.patchEcho(echo, patch, func(answer client.Object, body client.Patch) error { return r.Client.Status().Patch(ctx, answer, body) })
	if err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	echo.Status = status
	return nil
}

// patchEcho writes a patch and updates the version of the Echo.
func (r *Reconciler) patchEcho(echo *v1.Echo, patch controllers.EchoPatch, write func(client.Object, client.Patch) error) error {
	answer, err := patch.Write(echo, write)
	if err != nil {
		return err
	}
	if answer.Generation == echo.Generation {
		r.own.Wrote(client.ObjectKeyFromObject(echo), echo, answer, r.Now())
	}
	echo.ResourceVersion = answer.ResourceVersion
	return nil
}
