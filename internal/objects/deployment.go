package objects

import (
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// ProgressDeadline is how long a rollout may go without progress, or pods may be missing, before the Echo becomes degraded.
const ProgressDeadline = 10 * time.Minute

// deployment returns the Deployment that runs an Echo's pods. Old pods stop only after new ones are ready, so that no requests are lost.
func deployment(echo *v1.Echo, config Config) any {
	desired := &echo.Spec
	names := variables{variable("ECHO_SERVICE_NAME", echo.Name)} // of the objects through which requests reach a pod, but not a companion
	names.addIf(HasIngress(echo), "ECHO_INGRESS_NAME", echo.Name)
	spec := podSpec(echo, container(echo, config, names...)).
		WithNodeSelector(nodeSelector(desired.NodeSelector, config.Images.FirstParty(config.Images.Of(echo)))).
		WithTolerations(asConfigurations[corev1ac.TolerationApplyConfiguration](desired.Tolerations)...).
		// Without constraints, the scheduler spreads the pods of one revision across nodes and zones, also where nodes have no zone label.
		WithTopologySpreadConstraints(
			asConfigurations[corev1ac.TopologySpreadConstraintApplyConfiguration](desired.TopologySpreadConstraints)...)
	if desired.Affinity != nil {
		spec.WithAffinity(asConfiguration[corev1ac.AffinityApplyConfiguration](desired.Affinity))
	}
	setIfGiven(spec.WithPriorityClassName, desired.PriorityClassName)
	return appsv1ac.Deployment(echo.Name, echo.Namespace).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(echo.Spec.DesiredReplicas()).
			WithProgressDeadlineSeconds(int32(ProgressDeadline.Seconds())).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(SelectorLabels(echo))).
			WithStrategy(appsv1ac.DeploymentStrategy().
				WithType(appsv1.RollingUpdateDeploymentStrategyType).
				WithRollingUpdate(appsv1ac.RollingUpdateDeployment().
					WithMaxUnavailable(intstr.FromInt32(0)).
					WithMaxSurge(intstr.FromString("25%")))).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(commonLabels(echo)).
				WithLabels(asLabels(desired.PodLabels)).
				WithLabels(childLabels(echo)).
				WithAnnotations(commonAnnotations(echo)).
				WithAnnotations(desired.PodAnnotations).
				WithSpec(spec)))
}

// terminationGraceSeconds covers the echo server's drain delay (5 s) and its time limit for shutting down (20 s).
const terminationGraceSeconds = 30

// podSpec returns the part of the pod spec that an Echo's pods and companions have in common: everything except the fields that determine
// where they run. The server argument is the echo server's container.
func podSpec(echo *v1.Echo, server *corev1ac.ContainerApplyConfiguration) *corev1ac.PodSpecApplyConfiguration {
	spec := corev1ac.PodSpec().
		WithEnableServiceLinks(false).
		WithTerminationGracePeriodSeconds(terminationGraceSeconds).
		WithSecurityContext(podSecurityContext(&echo.Spec)).
		WithContainers(server)
	if hasTLS(&echo.Spec) {
		// The Secret is optional: cert-manager or OpenShift often creates it after the pod. The echo server names a missing Secret.
		spec.WithVolumes(corev1ac.Volume().WithName(tlsVolume).
			WithSecret(corev1ac.SecretVolumeSource().WithSecretName(echo.Spec.TLS.SecretName).WithOptional(true)))
	}
	setIdentity(spec, &echo.Spec)
	return spec
}

// setIdentity sets a pod's ServiceAccount and pull secrets from the Echo. The ServiceAccount's token is not mounted.
func setIdentity(spec *corev1ac.PodSpecApplyConfiguration, given *v1.EchoSpec) {
	spec.WithAutomountServiceAccountToken(false).
		WithImagePullSecrets(asConfigurations[corev1ac.LocalObjectReferenceApplyConfiguration](given.ImagePullSecrets)...)
	if name := given.ServiceAccountName; name != "" { // sets both fields, because the API server restores each from the other
		spec.WithServiceAccountName(name).WithDeprecatedServiceAccount(name)
	}
}

// nodeSelector returns the labels that a node must have to run an image. The operator's own images require Linux, unless the given labels
// specify another operating system.
func nodeSelector(given v1.Labels, own bool) map[string]string {
	selector := map[string]string{}
	if own {
		selector[corev1.LabelOSStable] = "linux"
	}
	maps.Copy(selector, asLabels(given))
	return selector
}
