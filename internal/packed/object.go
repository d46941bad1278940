package packed

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Object is a packed object. It cannot be changed. As a client.Object it says all that the metadata of the object say; what is not among its
// fields is unpacked each time.
type Object struct {
	kind            reflect.Type // a pointer
	namespace, name string
	uid, owner      types.UID // of the object, and of the object that controls it
	resourceVersion string
	created         int64 // in seconds since 1970, 0 if it is not known
	// metadata are the others.
	metadata, spec shared
	// status differs from object to object.
	status string
}

// Packs reports whether Pack packs an object.
func Packs(object any) bool { return partsOf(object).metadata != nil }

// Pack returns a packed object, and any other object as it is. It is a transform of a cache, and keeps the object as it is now.
func Pack(object any) (any, error) {
	p := partsOf(object)
	if p.metadata == nil {
		return object, nil
	}
	packed := &Object{
		kind: reflect.TypeOf(object), namespace: p.metadata.Namespace, name: p.metadata.Name,
		uid: p.metadata.UID, resourceVersion: p.metadata.ResourceVersion,
	}
	if !p.metadata.CreationTimestamp.IsZero() {
		packed.created = p.metadata.CreationTimestamp.Unix()
	}
	if owner := metav1.GetControllerOfNoCopy(p.metadata); owner != nil {
		packed.owner = owner.UID
	}
	return packed, packed.write(p)
}

// write packs the parts of an object.
func (o *Object) write(p parts) error {
	others := *p.metadata
	others.Namespace, others.Name, others.UID, others.ResourceVersion, others.CreationTimestamp = "", "", "", "", metav1.Time{}
	metadata, err := others.Marshal()
	if err != nil {
		return fmt.Errorf("packing the metadata of %s: %w", o.name, err)
	}
	spec, err := p.spec.Marshal()
	if err != nil {
		return fmt.Errorf("packing the spec of %s: %w", o.name, err)
	}
	status, err := p.status.Marshal()
	if err != nil {
		return fmt.Errorf("packing the status of %s: %w", o.name, err)
	}
	o.metadata, o.spec, o.status = share(string(metadata), o.name, string(o.owner)), share(string(spec), o.name), string(status)
	return nil
}

// Unpack returns the object, and any other object as it is. What it returns is the caller's.
func Unpack(object any) (any, error) {
	packed, ok := object.(*Object)
	if !ok {
		return object, nil
	}
	unpacked := reflect.New(packed.kind.Elem()).Interface()
	p := partsOf(unpacked)
	if err := packed.readMetadata(p.metadata); err != nil {
		return nil, err
	}
	if err := p.spec.Unmarshal([]byte(packed.spec.with(packed.name))); err != nil {
		return nil, fmt.Errorf("unpacking the spec of %s: %w", packed.name, err)
	}
	if err := p.status.Unmarshal([]byte(packed.status)); err != nil {
		return nil, fmt.Errorf("unpacking the status of %s: %w", packed.name, err)
	}
	return unpacked, nil
}

// HasField reports whether a field of a name is set in the JSON of the spec or the status of an Echo, at whatever depth. It unpacks nothing.
func (o *Object) HasField(name string) bool {
	key := `"` + name + `":`
	return strings.Contains(o.spec.with(o.name), key) || strings.Contains(o.status, key)
}

func (o *Object) readMetadata(into *metav1.ObjectMeta) error {
	if err := into.Unmarshal([]byte(o.metadata.with(o.name, string(o.owner)))); err != nil {
		return fmt.Errorf("unpacking the metadata of %s: %w", o.name, err)
	}
	into.Namespace, into.Name, into.UID, into.ResourceVersion = o.namespace, o.name, o.uid, o.resourceVersion
	into.CreationTimestamp = o.GetCreationTimestamp()
	return nil
}

// others returns the metadata that are not among the fields.
func (o *Object) others() *metav1.ObjectMeta {
	metadata := &metav1.ObjectMeta{}
	if err := o.readMetadata(metadata); err != nil {
		panic(err) // a defect: they were packed by this process
	}
	return metadata
}

// DeepCopyObject implements runtime.Object.
func (o *Object) DeepCopyObject() runtime.Object {
	c := *o
	return &c
}

// GetObjectKind implements runtime.Object. As for objects that were read into their Go type, it is not set.
func (o *Object) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// These implement metav1.Object.

func (o *Object) GetNamespace() string       { return o.namespace }
func (o *Object) GetName() string            { return o.name }
func (o *Object) GetUID() types.UID          { return o.uid }
func (o *Object) GetResourceVersion() string { return o.resourceVersion }
func (o *Object) GetCreationTimestamp() metav1.Time {
	if o.created == 0 {
		return metav1.Time{}
	}
	return metav1.NewTime(time.Unix(o.created, 0))
}
func (o *Object) GetGenerateName() string                       { return o.others().GenerateName }
func (o *Object) GetGeneration() int64                          { return o.others().Generation }
func (o *Object) GetSelfLink() string                           { return "" } // no API server writes it since Kubernetes 1.20
func (o *Object) GetDeletionTimestamp() *metav1.Time            { return o.others().DeletionTimestamp }
func (o *Object) GetDeletionGracePeriodSeconds() *int64         { return o.others().DeletionGracePeriodSeconds }
func (o *Object) GetLabels() map[string]string                  { return o.others().Labels }
func (o *Object) GetAnnotations() map[string]string             { return o.others().Annotations }
func (o *Object) GetFinalizers() []string                       { return o.others().Finalizers }
func (o *Object) GetOwnerReferences() []metav1.OwnerReference   { return o.others().OwnerReferences }
func (o *Object) GetManagedFields() []metav1.ManagedFieldsEntry { return o.others().ManagedFields }

const readOnly = "a packed object cannot be changed"

func (o *Object) SetNamespace(string)                          { panic(readOnly) }
func (o *Object) SetName(string)                               { panic(readOnly) }
func (o *Object) SetUID(types.UID)                             { panic(readOnly) }
func (o *Object) SetResourceVersion(string)                    { panic(readOnly) }
func (o *Object) SetCreationTimestamp(metav1.Time)             { panic(readOnly) }
func (o *Object) SetGenerateName(string)                       { panic(readOnly) }
func (o *Object) SetGeneration(int64)                          { panic(readOnly) }
func (o *Object) SetSelfLink(string)                           { panic(readOnly) }
func (o *Object) SetDeletionTimestamp(*metav1.Time)            { panic(readOnly) }
func (o *Object) SetDeletionGracePeriodSeconds(*int64)         { panic(readOnly) }
func (o *Object) SetLabels(map[string]string)                  { panic(readOnly) }
func (o *Object) SetAnnotations(map[string]string)             { panic(readOnly) }
func (o *Object) SetFinalizers([]string)                       { panic(readOnly) }
func (o *Object) SetOwnerReferences([]metav1.OwnerReference)   { panic(readOnly) }
func (o *Object) SetManagedFields([]metav1.ManagedFieldsEntry) { panic(readOnly) }
