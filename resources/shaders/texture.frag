#version 460
#extension GL_EXT_samplerless_texture_functions : require
// Part of a texture. The texel is computed from the pixel, not interpolated: a pixel that falls between two texels
// falls to the same one whatever rectangle of the element is repainted.

#ifdef BINDLESS
#extension GL_EXT_nonuniform_qualifier : require
layout(set = 0, binding = 1) uniform texture2D textures[];
#define TEXTURE textures[nonuniformEXT(place.z)]
#else
layout(set = 0, binding = 1) uniform texture2D texture_of_the_set;
#define TEXTURE texture_of_the_set
#endif

layout(constant_id = 0) const bool LINEAR = false;

layout(set = 0, binding = 0) uniform sampler between_texels;

layout(location = 0) flat in ivec4 place;
layout(location = 1) flat in vec4 map;
layout(location = 2) flat in vec4 bounds;
layout(location = 3) flat in vec4 color;

layout(location = 0) out vec4 target;

void main() {
    vec2 px = gl_FragCoord.xy - vec2(place.xy);
    vec2 turned = place.w != 0 ? px.yx : px;
    // Held between the outermost centres, so that no texel outside the source rectangle is read.
    vec2 texel = clamp(turned * map.xy + map.zw, bounds.xy, bounds.zw);
    vec4 sampled;
    if (LINEAR) {
        vec2 size = vec2(textureSize(TEXTURE, 0));
        sampled = textureLod(sampler2D(TEXTURE, between_texels), texel / size, 0.0);
    } else {
        sampled = texelFetch(TEXTURE, ivec2(texel), 0);
    }
    target = sampled * color;
}
