//! Each rewrite on a few lines of IR.

use super::*;

fn run(text: &str, float: FloatMode) -> Result<(String, BTreeMap<String, EntryMarker>), RewriteError> {
    let mut module = Module::parse(text).expect("test IR parses");
    let markers = rewrite(&mut module, float)?;
    Ok((module.print(), markers))
}

fn rewritten(text: &str) -> String {
    run(text, FloatMode::default()).expect("test IR is rewritten").0
}

fn error(text: &str) -> String {
    run(text, FloatMode::default()).expect_err("test IR is refused").to_string()
}

#[test]
fn volatile_assembly_becomes_convergent_and_loses_its_position() {
    let text = r#"define ptx_kernel void @k(ptr %0) unnamed_addr #0 {
  call void asm sideeffect "bar.sync 0;", "~{memory}"() #1, !srcloc !4
  %2 = tail call i32 asm sideeffect "{ setp \22 ) }", "=r,r"(i32 3), !srcloc !4
  %3 = call i32 asm "pure", "=r,r"(i32 3), !srcloc !4
  ret void
}
attributes #0 = { nounwind "target-cpu"="sm_30" "target-features"="+ptx60" }
"#;
    let out = rewritten(text);
    assert!(out.contains("\"~{memory}\"() #1 convergent\n"), "{out}");
    assert!(out.contains("\"=r,r\"(i32 3) convergent\n"), "{out}");
    assert!(out.contains("asm \"pure\", \"=r,r\"(i32 3), !srcloc !4\n"), "{out}");
    assert!(out.contains("@k(ptr %0) unnamed_addr convergent #0 {"), "{out}");
    assert!(out.contains("attributes #0 = { nounwind }"), "{out}");
}

#[test]
fn shared_statics_move_to_their_address_space() {
    let text = r#"@T = internal global [1024 x i8] undef, section ".shared", align 4
@"odd name" = internal global <{ [4 x i8], [4 x i8] }> <{ [4 x i8] undef, [4 x i8] undef }>, section ".shared", align 4
define ptx_kernel void @k() #0 {
  %1 = getelementptr inbounds i8, ptr @T, i64 4
  store i32 0, ptr getelementptr inbounds (i8, ptr @"odd name", i64 4), align 4
  ret void
}
"#;
    let out = rewritten(text);
    assert!(out.contains("@T = internal addrspace(3) global [1024 x i8] undef, align 4\n"), "{out}");
    assert!(out.contains("i8, ptr addrspacecast (ptr addrspace(3) @T to ptr), i64 4"), "{out}");
    assert!(out.contains("(i8, ptr addrspacecast (ptr addrspace(3) @\"odd name\" to ptr), i64 4)"), "{out}");
}

#[test]
fn shared_statics_with_a_value_are_refused() {
    let out = error("@T = internal global [4 x i8] zeroinitializer, section \".shared\", align 4\n");
    assert!(out.starts_with("static `T` in shared memory has an initial value ([4 x i8] zeroinitializer)"), "{out}");
    assert!(error("@T = internal global i32 7, section \".shared\", align 4\n").contains("MaybeUninit::uninit()"));
}

#[test]
fn constants_move_and_mutable_ones_are_written_by_the_host() {
    let text = r#"@C = internal constant [4 x i8] c"\00\22\00, section", section ".constant", align 4
@M = global [4 x i8] zeroinitializer, section ".constant", align 4
define ptx_kernel void @k() #0 {
  %1 = load i32, ptr @C, align 4
  ret void
}
"#;
    let out = rewritten(text);
    assert!(out.contains(r#"@C = internal addrspace(4) constant [4 x i8] c"\00\22\00, section", align 4"#), "{out}");
    assert!(out.contains("@M = addrspace(4) externally_initialized global [4 x i8] zeroinitializer, align 4"), "{out}");
    assert!(out.contains("load i32, ptr addrspacecast (ptr addrspace(4) @C to ptr), align 4"), "{out}");
}

#[test]
fn the_fault_record_stays_visible() {
    let name = super::FAULT_RECORD;
    let out =
        rewritten(&format!("{name} = internal global [8 x i8] zeroinitializer, section \".constant\", align 8\n"));
    assert!(out.contains(&format!("{name} = addrspace(4) externally_initialized global [8 x i8]")), "{out}");
}

#[test]
fn dynamic_shared_memory_is_external_and_aligned() {
    let text = "@__warpsmith_dynamic_shared = external global [0 x i8]\n\
                define ptx_kernel void @k() #0 {\n  store i32 0, ptr @__warpsmith_dynamic_shared, align 4\n  ret void\n}\n";
    let out = rewritten(text);
    assert!(out.contains("@__warpsmith_dynamic_shared = external addrspace(3) global [0 x i8], align 1024\n"), "{out}");
    assert!(out.contains("ptr addrspacecast (ptr addrspace(3) @__warpsmith_dynamic_shared to ptr), align 4"), "{out}");
}

#[test]
fn shared_addresses_and_pointers_get_bodies() {
    let text = "declare noundef i32 @__warpsmith_shared_address(ptr noundef) unnamed_addr #0\n\
                declare noundef ptr @__warpsmith_shared_pointer(i32 noundef) unnamed_addr #0\n";
    let out = rewritten(text);
    assert!(out.contains("i32 @__warpsmith_shared_address(ptr %x) convergent alwaysinline {\n"), "{out}");
    assert!(out.contains("%s = inttoptr i32 %x to ptr addrspace(3)\n"), "{out}");
    assert!(!out.contains("declare"), "{out}");
    let changed = "declare fastcc i32 @__warpsmith_shared_address(ptr) #0\n";
    assert!(error(changed).contains("shared address: this line of LLVM IR can't be rewritten"));
}

#[test]
fn launch_bounds_become_attributes() {
    let text = "define ptx_kernel void @k(i8 %0, [8 x i128] %1) unnamed_addr #0 section \".nv:module=m,reqntid=384x1x1,maxnreg=168\" {\n  ret void\n}\n";
    let (out, markers) = run(text, FloatMode::default()).unwrap();
    let expected = "@k(i8 %0, [8 x i128] alignstack(64) %1) unnamed_addr convergent \"nvvm.reqntid\"=\"384,1,1\" \"nvvm.maxnreg\"=\"168\" #0 {";
    assert!(out.contains(expected), "{out}");
    assert_eq!(markers["k"].module.as_deref(), Some("m"));
}

#[test]
fn references_to_tensor_maps_become_parameters_in_place() {
    let text = "define ptx_kernel void @k(ptr noalias noundef readonly align 64 captures(none) dereferenceable(128) %raw_0, ptr align 4 dereferenceable(128) %1) #0 {\n  ret void\n}\n";
    let out = rewritten(text);
    let expected =
        "@k(ptr byval([128 x i8]) align 64 \"nvvm.grid_constant\" %raw_0, ptr align 4 dereferenceable(128) %1) ";
    assert!(out.contains(expected), "{out}");
}

#[test]
fn only_entries_get_aligned_tensor_maps() {
    let out = rewritten("define internal void @f([8 x i128] %0) #0 {\n  ret void\n}\n");
    assert!(out.contains("@f([8 x i128] %0) convergent #0"), "{out}");
}

#[test]
fn unknown_markers_are_refused() {
    let entry = "define ptx_kernel void @k() #0 section \".nv:maxreg=3\" {\n  ret void\n}\n";
    assert!(error(entry).starts_with("kernel `k` has the section \".nv:maxreg=3\": unknown key \"maxreg\""));
    let section = "@S = internal global i32 undef, section \".shard\", align 4\n";
    assert!(error(section).starts_with("`S` is placed in section \".shard\", which means nothing"));
    let function = "define internal void @f() #0 section \".nv:maxnreg=3\" {\n  ret void\n}\n";
    assert!(error(function).contains("is no `extern \"ptx-kernel\"` function"));
}

#[test]
fn float_modes_are_opt_in() {
    let text = "define ptx_kernel void @k(float %0) #0 {\n  %1 = fmul float %0, %0\n  %2 = fadd nnan <2 x float> %a, %b\n  %3 = fsub contract float %0, %0\n  ret void\n}\n";
    assert!(!rewritten(text).contains("contract float %0, %0\n  %2"));
    let (out, _) = run(text, FloatMode { ftz: true, contract: true }).unwrap();
    assert!(out.contains("%1 = fmul contract float"), "{out}");
    assert!(out.contains("%2 = fadd nnan contract <2 x float>"), "{out}");
    assert!(out.contains("%3 = fsub contract float"), "{out}");
    assert!(out.contains("\"denormal-fp-math-f32\"=\"preserve-sign,preserve-sign\""), "{out}");
}
